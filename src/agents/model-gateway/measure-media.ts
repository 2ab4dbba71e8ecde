import { isObject, type JsonObject, readField, readText } from './json-fields'

/** Types of content parts that are pictures. */
const pictureTypes = new Set(['image', 'image_url', 'input_image'])
/** Types of content parts that a prompt cannot be measured with. */
const otherTypes = new Set(['document', 'file', 'input_file', 'input_audio', 'audio', 'video'])

/** The data of a picture in a part; null: it is somewhere else. */
function findData(part: JsonObject): string | null {
  const source = part.source
  if (readText(source, 'type') === 'base64') return readText(source, 'data')
  const url = typeof part.image_url === 'string' ? part.image_url : readText(part.image_url, 'url')
  return url.startsWith('data:') ? url : null
}

/** Calls `visit` for every content part of messages, those in results of tools included. */
function visitParts(value: unknown, visit: (part: JsonObject) => void): void {
  if (Array.isArray(value)) {
    for (const each of value) visitParts(each, visit)
    return
  }
  if (!isObject(value)) return
  if (typeof value.type === 'string') visit(value)
  visitParts(value.content, visit)
  visitParts(value.output, visit)
}

/** Returns the pictures of a prompt, and the characters of their data. */
export function countMedia(messages: unknown): { count: number; chars: number } {
  const found = { count: 0, chars: 0 }
  visitParts(messages, (part) => {
    if (!pictureTypes.has(String(part.type))) return
    found.count++
    found.chars += findData(part)?.length ?? 0
  })
  return found
}

/** Returns a part of a prompt whose size nobody knows before the provider has read it; null: there is none. */
export function findUnmeasured(messages: unknown): string | null {
  let problem: string | null = null
  visitParts(messages, (part) => {
    const type = String(part.type)
    const isText = type === 'document' && readText(readField(part, 'source'), 'type') === 'text'
    if (otherTypes.has(type) && !isText) problem ??= `A content part of the type ${type}`
    if (pictureTypes.has(type) && findData(part) === null) problem ??= 'A picture by its address'
    if (type === 'item_reference') problem ??= 'A reference to a stored item'
  })
  return problem
}
