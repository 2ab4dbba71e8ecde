/** Texts of one byte a character are told quickly. */
const onlySingleBytes = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/**
 * Bytes that a text takes in storage, where it stands within JSON: UTF-8, quotes, backslashes and
 * control characters escaped.
 */
export function countStoredBytes(text: string): number {
  if (onlySingleBytes.test(text)) return text.length
  let bytes = 0
  for (let index = 0; index < text.length; index++) bytes += bytesOf(text.charCodeAt(index))
  return bytes
}

/** As much of the beginning of a text as fits; never half of a character. */
export function fitStoredBytes(text: string, bytesMax: number): string {
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
  // Half of a surrogate pair is two bytes of the pair's four.
  return unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3
}
