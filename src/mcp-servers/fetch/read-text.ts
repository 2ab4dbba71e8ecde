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
  for await (const chunk of response.body ?? []) {
    const kept: Uint8Array = chunk.subarray(0, bytesMax - bytes)
    isTruncated = kept.length < chunk.length
    bytes += kept.length
    const from: number = text?.length ?? 0
    text = append(text, decoder, kept, true)
    if (isTruncated || (text !== null && isEnough?.(text.slice(from)))) break
  }
  // Truncation within a character does not make the body binary.
  if (!isTruncated) text = append(text, decoder, new Uint8Array(), false)
  return { text: text?.includes('\0') ? null : text, bytes, isTruncated }
}

function append(
  text: string | null,
  decoder: TextDecoder,
  bytes: Uint8Array,
  stream: boolean,
): string | null {
  if (text === null) return null
  try {
    return text + decoder.decode(bytes, { stream })
  } catch {
    return null
  }
}
