import { bodyLimits } from '../../shared/config'
import { httpErrors } from './http-errors'

/** Returns the media type of a Content-Type header in lower case, without its parameters. */
const readMediaType = (header: string | null | undefined): string =>
  (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

/** Whether a Content-Type header is exactly JSON: `application/json` or a type that ends in `+json`. */
export const isJsonType = (header: string | null | undefined): boolean =>
  /^application\/([a-z0-9!#$&^_.+-]+\+)?json$/.test(readMediaType(header))

/** Whether a Content-Type header is exactly that of an HTML form. */
export const isFormType = (header: string | null | undefined): boolean =>
  ['application/x-www-form-urlencoded', 'multipart/form-data'].includes(readMediaType(header))

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
