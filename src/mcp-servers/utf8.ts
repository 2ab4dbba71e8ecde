const decoder = new TextDecoder()
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes of the form 10xxxxxx go on with a character (RFC 3629, section 3). */
const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000

/**
 * The text from the byte `from`, at most `bytesMax` bytes of it, cut between characters; `end` is
 * where the next part begins.
 */
export function sliceUtf8(
  bytes: Uint8Array,
  from: number,
  bytesMax: number,
): { text: string; start: number; end: number } {
  let start = Math.min(from, bytes.length)
  while (isContinuation(bytes[start])) start++
  let end = Math.min(bytes.length, start + bytesMax)
  while (end > start && isContinuation(bytes[end])) end--
  // At least one character while there is one: who reads on from `end` gets on.
  if (end === start) end = Math.min(bytes.length, start + 1)
  while (isContinuation(bytes[end])) end++
  return { text: decoder.decode(bytes.subarray(start, end)), start, end }
}

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes)
    return true
  } catch {
    return false
  }
}
