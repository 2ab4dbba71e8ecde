import type { Context } from 'hono'
import { bodyLimits } from '../../shared/config'
import type { AppError } from '../../shared/errors'
import { httpErrors } from './errors'
import type { HubEnv } from './hub-env'

/** Returns the media type of a Content-Type header in lower case, without its parameters. */
const readMediaType = (header: string | null | undefined): string =>
  (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

/** Whether every charset that a Content-Type header declares is UTF-8. Without any it is UTF-8, too. */
export const isUtf8Type = (header: string | null | undefined): boolean =>
  [...(header ?? '').matchAll(/;\s*charset\s*=\s*("(?:[^"\\]|\\.)*"?|[^;]*)/gi)].every(
    ([, value = '']) => /^utf-?8$/i.test(value.trim().replace(/^"(.*)"$/, '$1')),
  )

/** Whether a Content-Encoding header declares a coding: bodies are taken as they are. */
export const isEncoded = (header: string | null | undefined): boolean =>
  (header ?? '').split(',').some((coding) => !/^(identity)?$/i.test(coding.trim()))

/**
 * Returns the text of a body. Those of forms may have bytes as `%e4`.
 *
 * @throws VALIDATION for bytes that are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch (cause) {
    throw httpErrors.notUtf8(cause)
  }
}

/** @throws VALIDATION for a form whose bytes, also those that are written as `%e4`, are not UTF-8 */
export function requireUtf8Form(bytes: Uint8Array, type: string | null): void {
  decodeUtf8(readMediaType(type) === 'multipart/form-data' ? bytes : unescapeBytes(bytes))
}

/** Returns the bytes of a URL-encoded form with its escapes replaced. What is no escape stays as it is. */
function unescapeBytes(bytes: Uint8Array): Uint8Array {
  const unescaped = new Uint8Array(bytes.length)
  let length = 0
  for (let index = 0; index < bytes.length; index++) {
    const digits = String.fromCharCode(...bytes.subarray(index + 1, index + 3))
    const isEscape = bytes[index] === percent && /^[0-9a-f]{2}$/i.test(digits)
    unescaped[length++] = isEscape ? Number.parseInt(digits, 16) : (bytes[index] ?? 0)
    if (isEscape) index += 2
  }
  return unescaped.subarray(0, length)
}

/** Whether a Content-Type header is exactly JSON: `application/json` or a type that ends in `+json`. */
export const isJsonType = (header: string | null | undefined): boolean =>
  /^application\/([a-z0-9!#$&^_.+-]+\+)?json$/.test(readMediaType(header))

/** Whether a Content-Type header is exactly that of an HTML form. */
export const isFormType = (header: string | null | undefined): boolean =>
  ['application/x-www-form-urlencoded', 'multipart/form-data'].includes(readMediaType(header))

/** Throws UNSUPPORTED_MEDIA unless a body is declared as JSON, or as a form, in UTF-8 and as it is. */
export function requireBodyType(c: Context<HubEnv>, isForm: boolean): void {
  const type = c.req.header('content-type')
  if (!isForm && !isJsonType(type)) throw httpErrors.notJson()
  if (isForm && !isFormType(type)) throw httpErrors.notForm()
  if (!isUtf8Type(type)) throw httpErrors.otherCharset()
  if (!isEncoded(c.req.header('content-encoding'))) return
  c.header('accept-encoding', 'identity')
  throw httpErrors.encoded()
}

/** What JSON can have, before it is parsed. */
interface JsonLimits {
  depthMax: number
  /** Entries of all objects and lists; an empty one counts as one. */
  valuesMax: number
}

const { jsonDepthMax, jsonValuesMax } = bodyLimits
const bodyJsonLimits: JsonLimits = { depthMax: jsonDepthMax, valuesMax: jsonValuesMax }

/** @throws VALIDATION, TOO_LARGE for JSON in UTF-8 that is nested deeper, or has more values, than the limits */
export function requireSmallJson(
  json: Uint8Array,
  { depthMax, valuesMax }: JsonLimits = bodyJsonLimits,
): void {
  let depth = 0
  let values = 0
  for (let index = 0; index < json.length; index++) {
    const byte = json[index] ?? 0
    if (byte === quote) index = findStringEnd(json, index)
    depth += depthChanges[byte] ?? 0
    if (opensEntry[byte] === 1) values++
    if (depth > depthMax) throw httpErrors.tooDeep(depthMax)
  }
  if (values > valuesMax) throw httpErrors.tooManyValues(valuesMax)
}

const percent = 0x25
const quote = 0x22
const backslash = 0x5c
/** How much deeper each byte of JSON nests what follows. */
const depthChanges = new Int8Array(256)
for (const bracket of '[{') depthChanges[bracket.charCodeAt(0)] = 1
for (const bracket of ']}') depthChanges[bracket.charCodeAt(0)] = -1
/** Bytes that an entry of an object or a list follows, or its end. */
const opensEntry = new Uint8Array(256)
for (const char of '[{,') opensEntry[char.charCodeAt(0)] = 1

/** Returns the index of the quote that ends the string at `start`. */
function findStringEnd(json: Uint8Array, start: number): number {
  let index = start + 1
  while (index < json.length && json[index] !== quote) index += json[index] === backslash ? 2 : 1
  return index
}

/**
 * Reads a body of at most `bytesMax` bytes.
 *
 * @throws TOO_LARGE as soon as there is more, REQUEST_TIMEOUT when the last byte does not arrive in time
 */
export async function readBoundedBody(
  request: Request,
  { bytesMax, readMs }: { bytesMax: number; readMs: number },
  toTooLarge: (bytesMax: number) => AppError = httpErrors.tooLarge,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader()
  if (!reader) return new Uint8Array()
  let timer: ReturnType<typeof setTimeout> | null = null
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(httpErrors.bodyTimedOut(readMs)), readMs)
  })
  try {
    return await Promise.race([collect(reader, bytesMax, toTooLarge), timeout])
  } catch (error) {
    reader.cancel().catch(() => undefined)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytesMax: number,
  toTooLarge: (bytesMax: number) => AppError,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > bytesMax) throw toTooLarge(bytesMax)
    chunks.push(value)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Throws TOO_LARGE when a request declares a longer body. */
export function requireShortBody(request: Request, bytesMax: number): void {
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) {
    throw httpErrors.tooLarge(bytesMax)
  }
}

interface MediaRange {
  /** Such as `text/html`, `text/*` and `*` + `/*`, in lower case. */
  type: string
  /** 0: not acceptable, to 1. */
  quality: number
}

/** A request without the header accepts everything (RFC 9110, 12.5.1). */
const anything = '*/*'

const parseAccept = (header: string | null | undefined): MediaRange[] =>
  (header?.trim() || anything).split(',').flatMap((part) => {
    const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase())
    if (type === '') return []
    const given = parameters.find((each) => /^q\s*=/.test(each))?.replace(/^q\s*=\s*/, '')
    const quality = given === undefined ? 1 : Number(given || Number.NaN)
    return [{ type, quality: Number.isNaN(quality) ? 1 : Math.min(1, Math.max(0, quality)) }]
  })

/** Returns the range that says most about a media type: the type itself, else its kind, else anything. */
function findRange(ranges: readonly MediaRange[], type: string): MediaRange | undefined {
  const names = [type, `${type.split('/')[0]}/*`, anything]
  return names
    .map((name) => ranges.find((range) => range.type === name))
    .find((range) => range !== undefined)
}

/**
 * Returns whether an Accept header asks for a page rather than for JSON: it names HTML, and not after JSON.
 * Programs that take anything get JSON.
 */
export function prefersPage(header: string | null | undefined): boolean {
  const ranges = parseAccept(header)
  const [page, json] = [findRange(ranges, 'text/html'), findRange(ranges, 'application/json')]
  if (page === undefined || page.type === anything || page.quality === 0) return false
  if (json === undefined || json.quality !== page.quality)
    return page.quality > (json?.quality ?? 0)
  return json.type !== 'application/json' || ranges.indexOf(page) < ranges.indexOf(json)
}
