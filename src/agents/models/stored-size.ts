/** Matches texts of one byte per character, the common case, which is fast to test. */
const onlySingleBytes = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/**
 * Returns a text's bytes in storage, as part of JSON: UTF-8 with quotes, backslashes and control
 * characters escaped.
 */
export function countStoredBytes(text: string): number {
  if (onlySingleBytes.test(text)) return text.length
  let bytes = 0
  for (let index = 0; index < text.length; index++) bytes += bytesOf(text.charCodeAt(index))
  return bytes
}

/** Truncates a text to a number of stored bytes, never within a surrogate pair. */
export function truncateToStoredBytes(text: string, bytesMax: number): string {
  let bytes = 0
  for (let index = 0; index < text.length; index++) {
    bytes += bytesOf(text.charCodeAt(index))
    if (bytes <= bytesMax) continue
    const isWithinPair = (text.charCodeAt(index) & 0xfc00) === 0xdc00
    return text.slice(0, isWithinPair ? index - 1 : index)
  }
  return text
}

const lineBreaks = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d])

function bytesOf(unit: number): number {
  if (unit < 0x20) return lineBreaks.has(unit) ? 2 : 6
  if (unit === 0x22 || unit === 0x5c) return 2
  if (unit < 0x80) return 1
  // A surrogate is two of the four bytes of its pair.
  return unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3
}
