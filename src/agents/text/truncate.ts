/** Truncates a text to `charsMax` characters and notes how many are missing. */
export const truncate = (text: string, charsMax: number): string => {
  const most = Math.max(0, Math.floor(charsMax))
  if (text.length <= most) return text
  return `${text.slice(0, most).toWellFormed()} [... ${text.length - most} more characters]`
}
