/** Characters before a cut among which the beginning of what it would split is looked for. */
const lookBack = 64

let graphemes: Intl.Segmenter | undefined

/**
 * Returns the beginning of a text, at most `charsMax` UTF-16 units, which ends between two characters as people see
 * them: never within a surrogate pair, halves of which become U+FFFD, and within a letter and its marks, a flag or a family of emoji only where
 * these are longer than 64 units.
 */
export function cutText(text: string, charsMax: number): string {
  const most = Math.max(0, Math.floor(charsMax))
  if (text.length <= most) return text
  const from = toPair(text, Math.max(0, most - lookBack))
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const around = graphemes.segment(text.slice(from, most + lookBack)).containing(most - from)
  const start = around?.index ?? 0
  return text.slice(0, start > 0 ? from + start : toPair(text, most)).toWellFormed()
}

/** Returns a text that is too long as its beginning and `…`, together at most `charsMax` UTF-16 units. */
export const shortenText = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${cutText(text, charsMax - 1).trimEnd()}…`

/** Returns a place in a text, or the one before it within a surrogate pair. */
const toPair = (text: string, at: number): number =>
  at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at
