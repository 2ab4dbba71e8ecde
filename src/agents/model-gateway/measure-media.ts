import { isObject, type JsonObject, readField, readText } from './json-fields'

/** Types of content parts that are pictures. */
const pictureTypes = new Set(['image', 'image_url', 'input_image'])

/** Levels of content within content, such as a picture in the result of a tool. */
const depthMax = 8

/** The data of a picture in a part; null: it is somewhere else. */
function findData(part: JsonObject): string | null {
  if ((part.file_id ?? null) !== null) return null
  const source = part.source
  if (readText(source, 'type') === 'base64') return readText(source, 'data')
  const url = typeof part.image_url === 'string' ? part.image_url : readText(part.image_url, 'url')
  return url.startsWith('data:image/') ? url : null
}

/**
 * Calls `visit` for every item and content part of messages, those in results of tools included; `isItem`: it is at the
 * top of its list. Returns whether it has seen all of them: not those that are nested too deeply.
 */
export function visitParts(
  lists: unknown[],
  visit: (part: JsonObject, isItem: boolean) => void,
): boolean {
  let isWhole = true
  const enter = (value: unknown, depth: number, isItem: boolean): void => {
    if (depth > depthMax) {
      isWhole = false
      return
    }
    if (Array.isArray(value)) {
      for (const each of value) enter(each, depth + 1, isItem)
    } else if (isObject(value)) {
      visit(value, isItem)
      enter(value.content, depth + 1, false)
      // What a shell printed has no types.
      if (value.type !== 'shell_call_output') enter(value.output, depth + 1, false)
    }
  }
  for (const list of lists) enter(list, 0, true)
  return isWhole
}

/** What counts otherwise than by its bytes. */
export interface Media {
  pictures: number
  /** Characters of the data of pictures. */
  chars: number
  /** Characters of the tools that a provider puts where the prompt refers to them. */
  referredChars: number
}

/** Returns the pictures of a prompt, and the tools that it refers to, each time again. */
export function measureMedia(messages: unknown[], tools: unknown): Media {
  const found = { pictures: 0, chars: 0, referredChars: 0 }
  const charsOf = new Map<string, number>()
  for (const tool of Array.isArray(tools) ? tools : [])
    charsOf.set(readText(tool, 'name'), new TextEncoder().encode(JSON.stringify(tool)).length)
  visitParts(messages, (part) => {
    if (part.type === 'tool_reference' || part.type === 'tool_addition') {
      const name = readText(part, 'tool_name') || readText(part.tool, 'name')
      found.referredChars += charsOf.get(name) ?? 0
    }
    if (!pictureTypes.has(String(part.type))) return
    found.pictures++
    found.chars += findData(part)?.length ?? 0
  })
  return found
}

/** Returns why nobody knows the size of a part before the provider has read it; null: it is known. */
export function findUnmeasured(part: JsonObject): string | null {
  const type = String(part.type)
  const isText = readText(readField(part, 'source'), 'type') === 'text'
  if (type === 'document' && !isText) return 'A document that is not text'
  return pictureTypes.has(type) && findData(part) === null ? 'A picture by its address' : null
}
