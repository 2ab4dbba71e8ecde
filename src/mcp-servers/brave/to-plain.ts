import { cutText } from '../../shared/cut-text'

/** Converts a passage of a page to plain text of at most `charsMax` characters. */
export function toPlain(text: string, charsMax: number): string {
  const plain = text
    .replace(/<\/?[a-z][^<>]{0,200}>/gi, '')
    .replace(/&(amp|lt|gt|quot|#x27|#39|nbsp);/g, (_, name: string) => entities[name] ?? ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return plain.length <= charsMax ? plain : `${cutText(plain, charsMax)}…`
}

const entities: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#x27': "'",
  '#39': "'",
}
