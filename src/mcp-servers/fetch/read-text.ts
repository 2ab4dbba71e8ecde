/**
 * Reads at most `bytesMax` of a body. `text` is null when the body is not UTF-8, because other bytes
 * could hide a credential from redaction.
 *
 * @param isEnough called with each part; true: stop reading
 */
export async function readText(
  response: Response,
  bytesMax: number,
  isEnough?: (part: string) => boolean,
): Promise<{ text: string | null; bytes: number; isTruncated: boolean }> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
  let bytes = 0
  let text: string | null = ''
  let isTruncated = false
  const append = (part: Uint8Array | null): string => {
    const decoded = text === null ? null : decode(decoder, part)
    text = decoded === null ? null : text + decoded
    return decoded ?? ''
  }
  for await (const chunk of response.body ?? []) {
    const kept: Uint8Array = chunk.subarray(0, bytesMax - bytes)
    isTruncated = kept.length < chunk.length
    bytes += kept.length
    // The part alone: a slice of the whole text would copy all of it for each part.
    const part = append(kept)
    if (isTruncated || (text !== null && isEnough?.(part))) break
  }
  // Truncation within a character does not make the body binary.
  if (!isTruncated) append(null)
  return { text: text?.includes('\0') ? null : text, bytes, isTruncated }
}

/** @returns null when the bytes are not UTF-8; without bytes what is left */
function decode(decoder: TextDecoder, bytes: Uint8Array | null): string | null {
  try {
    return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode()
  } catch {
    return null
  }
}
