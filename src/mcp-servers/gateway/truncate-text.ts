import { resultsReadName } from '../results/tools/read'
import { sliceUtf8 } from '../utf8'

const encoder = new TextEncoder()

/** Bytes reserved for the note, whatever numbers it contains. */
const NOTE_BYTES = 240

/** Whether a text takes more than `bytesMax` bytes of UTF-8. */
export const isTooLong = (text: string, bytesMax: number): boolean =>
  // Each UTF-16 code unit takes at most three bytes.
  text.length * 3 > bytesMax && encoder.encode(text).length > bytesMax

/**
 * Truncates a result to at most `bytesMax` bytes of UTF-8, between characters. A note at the end gives
 * the size, and how to read on when the whole result is stored under a handle.
 */
export function truncateText(
  text: string,
  bytesMax: number,
  handle: string | null = null,
): { text: string; bytes: number } {
  const bytes = encoder.encode(text)
  if (bytes.length <= bytesMax) return { text, bytes: bytes.length }
  const part = sliceUtf8(bytes, 0, Math.max(0, bytesMax - NOTE_BYTES))
  const kib = (count: number) => Math.ceil(count / 1024)
  const next =
    handle === null
      ? 'Request less at a time.'
      : `Read on with ${resultsReadName}: handle ${handle}, offset ${part.end}.`
  const truncated = `${part.text}\n[Truncated: ${kib(part.end)} of ${kib(bytes.length)} KiB shown. ${next}]`
  return { text: truncated, bytes: encoder.encode(truncated).length }
}
