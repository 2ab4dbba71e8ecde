import { resultsReadName } from '../results/tools/read'
import { sliceUtf8 } from '../utf8'

const encoder = new TextEncoder()

/** Room for the note, whatever the numbers in it. */
const NOTE_BYTES = 240

export const isTooLong = (text: string, bytesMax: number): boolean =>
  // A character takes three bytes at most, for each unit of its UTF-16.
  text.length * 3 > bytesMax && encoder.encode(text).length > bytesMax

/**
 * A result that a model can take: at most `bytesMax` bytes of UTF-8, cut between characters, with
 * a note at the end that says so, and how to read on when the whole is kept under a handle (M10).
 */
export function boundText(
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
      ? 'Ask for less at a time.'
      : `Read on with ${resultsReadName}: handle ${handle}, offset ${part.end}.`
  const cut = `${part.text}\n[Cut here: ${kib(part.end)} of ${kib(bytes.length)} KiB are shown. ${next}]`
  return { text: cut, bytes: encoder.encode(cut).length }
}
