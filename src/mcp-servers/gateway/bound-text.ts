const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Room for the note, whatever the numbers in it. */
const NOTE_BYTES = 120

/**
 * A result that a model can take: at most `bytesMax` bytes of UTF-8, cut between characters, with
 * a note at the end that says so.
 */
export function boundText(text: string, bytesMax: number): { text: string; bytes: number } {
  const bytes = encoder.encode(text)
  if (bytes.length <= bytesMax) return { text, bytes: bytes.length }
  let end = Math.max(0, bytesMax - NOTE_BYTES)
  while (end > 0 && isContinuation(bytes[end])) end--
  const kib = (count: number) => Math.ceil(count / 1024)
  const cut =
    decoder.decode(bytes.subarray(0, end)) +
    `\n[Cut here: ${kib(end)} of ${kib(bytes.length)} KiB are shown. Ask for less at a time.]`
  return { text: cut, bytes: encoder.encode(cut).length }
}

/** Bytes of the form 10xxxxxx go on with a character (RFC 3629, section 3). */
const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000
