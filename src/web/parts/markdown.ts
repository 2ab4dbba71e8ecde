import { cutText } from '../../shared/cut-text'

/** Returns the beginning of a text for a list, without markup characters, truncated at a word. */
export function excerpt(text: string, charsMax: number): string {
  const plain = cutText(text, charsMax * 3)
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    // a link that the slice above truncated
    .replace(/!?\[([^\]]*)(\]\([^)]*)?$/, '$1')
    // quotes and headings; in the middle of a line these characters are part of the text
    .replace(/^(?:[^\S\n\r\u2028\u2029]*>)+/gm, ' ')
    .replace(/^[^\S\n\r\u2028\u2029]*#{1,6}\s/gm, ' ')
    .replace(/[`*|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  if (plain.length <= charsMax) return plain
  return `${cutText(plain, charsMax).replace(/\s\S*$/, '')} …`
}
