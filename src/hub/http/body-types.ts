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

/** @throws VALIDATION for JSON in UTF-8 that is nested deeper than the limit */
export function requireFlatJson(json: Uint8Array, depthMax: number): void {
  if (measureJsonDepth(json, depthMax) > depthMax) throw httpErrors.tooDeep(depthMax)
}

const quote = 0x22
const backslash = 0x5c
/** How much deeper each byte of JSON nests what follows. */
const depthChanges = new Int8Array(256)
for (const bracket of '[{') depthChanges[bracket.charCodeAt(0)] = 1
for (const bracket of ']}') depthChanges[bracket.charCodeAt(0)] = -1

/** Returns how deep JSON in UTF-8 is nested. It stops counting above `depthMax`. */
function measureJsonDepth(json: Uint8Array, depthMax: number): number {
  let depth = 0
  let deepest = 0
  for (let index = 0; index < json.length && deepest <= depthMax; index++) {
    const byte = json[index] ?? 0
    if (byte === quote) index = findStringEnd(json, index)
    depth += depthChanges[byte] ?? 0
    if (depth > deepest) deepest = depth
  }
  return deepest
}

/** Returns the index of the quote that ends the string at `start`. */
function findStringEnd(json: Uint8Array, start: number): number {
  let index = start + 1
  while (index < json.length && json[index] !== quote) index += json[index] === backslash ? 2 : 1
  return index
}
