import { cutText } from '../../shared/cut-text'

/** Truncates a text to `charsMax` characters and notes how many are missing. */
export const truncate = (text: string, charsMax: number): string => {
  const most = Math.max(0, Math.floor(charsMax))
  if (text.length <= most) return text
  const start = cutText(text, most)
  return `${start} [... ${text.length - start.length} more characters]`
}
