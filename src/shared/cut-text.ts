import { keep } from './keep.ts'

/** Characters before a cut among which the beginning of what it would split is looked for. */
const lookBack = 64

const getGraphemes = keep(() => new Intl.Segmenter('en', { granularity: 'grapheme' }))

/**
 * Returns the beginning of a text, at most `charsMax` UTF-16 units, which ends between two characters as people see
 * them: never within a surrogate pair, halves of which become U+FFFD, and within a letter and its marks, a flag or a family of emoji only where
 * these are longer than 64 units.
 */
export function cutText(text: string, charsMax: number): string {
  const most = Math.max(0, Math.floor(charsMax))
  if (text.length <= most) return text
  const from = toPair(text, Math.max(0, most - lookBack))
  const around = getGraphemes()
    .segment(text.slice(from, most + lookBack))
    .containing(most - from)
  const start = around?.index ?? 0
  return text.slice(0, start > 0 ? from + start : toPair(text, most)).toWellFormed()
}

/** Returns a text that is too long as its beginning and `…`, together at most `charsMax` UTF-16 units. */
export const shortenText = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${cutText(text, charsMax - 1).trimEnd()}…`

/** As `shortenText`, but ends between words where one ends in the second half. */
export function shortenToWords(text: string, charsMax: number): string {
  const short = shortenText(text, charsMax)
  if (short === text || text[short.length - 1] === ' ') return short
  const space = short.lastIndexOf(' ')
  return space > charsMax / 2 ? `${short.slice(0, space).trimEnd()}…` : short
}

/** Returns a place in a text, or the one before it within a surrogate pair. */
const toPair = (text: string, at: number): number =>
  at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at

const encoder = new TextEncoder()

/** Whether a text takes more than `bytesMax` bytes of UTF-8. */
export const isLongerThan = (text: string, bytesMax: number): boolean =>
  // Each UTF-16 unit takes one to three bytes, so most texts need no encoding.
  text.length * 3 > bytesMax && (text.length > bytesMax || encoder.encode(text).length > bytesMax)

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

/**
 * After so many bytes others get their turn: a server that sends faster than a body can be read would otherwise keep the
 * process to itself.
 */
const unbrokenBytesMax = 64 * 1024

/**
 * Returns a response whose body ends after a number of bytes; the connection of a longer one is closed. Libraries that
 * read a response read all of it, and the server decides how long that is.
 *
 * @param onBytes called when bytes arrive
 */
export function truncateBody(
  response: Response,
  bytesMax: number,
  onBytes: () => void = () => undefined,
): Response {
  if (response.body === null) return response
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  let left = bytesMax
  let unbroken = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      onBytes()
      unbroken += value.length
      if (unbroken > unbrokenBytesMax) {
        unbroken = 0
        await new Promise((resolve) => setTimeout(resolve, 0))
      }
      controller.enqueue(value.length <= left ? value : value.subarray(0, left))
      left -= value.length
      if (left > 0) return
      controller.close()
      await reader.cancel().catch(() => undefined)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  return new Response(body, { status: response.status, statusText: response.statusText, headers })
}
