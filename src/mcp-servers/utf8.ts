const decoder = new TextDecoder()
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether a byte continues a character: it has the form 10xxxxxx (RFC 3629, section 3). */
const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000

/**
 * Returns the text from byte `from`, truncated between characters to at most `bytesMax` bytes; `end` is
 * the offset of the next part.
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
  // Return at least one character while there is one, so that reading on from `end` makes progress.
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
