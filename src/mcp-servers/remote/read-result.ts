import { isRawNumber } from '../../shared/exact-json'
import { formatBytes } from '../../shared/format'
import { type Fields, isFields } from './read-message'

/** The result of a tool as the model reads it. */
export interface ReadResult {
  text: string
  isError: boolean
}

/**
 * Reads a result. What is not text is named, and what cannot be read is named with the reason, so that the rest is not
 * lost with it.
 *
 * @returns null when nothing of it is what the specification says
 */
export function readResult({ content, structuredContent, isError }: Fields): ReadResult | null {
  const blocks: unknown[] = content === undefined || content === null ? [] : [content].flat()
  const isList = Array.isArray(content) || blocks.length === 0
  const structured = structuredContent ?? undefined
  if (!isList && structured === undefined) return null
  const texts = isList ? blocks.map(describeBlock) : ['[The content is not a list: not shown]']
  const isShown = structured === undefined || hasJson(texts, structured)
  const parts = isShown ? texts : [...texts, JSON.stringify(structured)]
  return { text: parts.join('\n').toWellFormed(), isError: isError === true }
}

function describeBlock(block: unknown, index: number): string {
  const place = `Content ${index + 1}`
  if (!isFields(block)) return `[${place} is not an object: not shown]`
  const { type, text } = block
  if (type === 'text') {
    return typeof text === 'string' ? text : `[${place} is a text without text: not shown]`
  }
  if (type === 'image' || type === 'audio') return describeData(type, block.mimeType, block.data)
  if (type === 'resource_link') return describeLink(block)
  if (type === 'resource') return describeResource(block.resource, place)
  return `[${place} is of the unknown type ${JSON.stringify(type)}: not shown]`
}

const describeData = (kind: string, mimeType: unknown, data: unknown): string => {
  const size = typeof data === 'string' ? formatSize(Math.floor((data.length * 3) / 4)) : 'no data'
  return `[${typeof mimeType === 'string' ? mimeType : kind}, ${size}, not shown]`
}

/** Without the space of pages that breaks no line. */
const formatSize = (bytes: number): string => formatBytes(bytes).replaceAll('\u00a0', ' ')

function describeLink({ uri, name, title, description, mimeType, size }: Fields): string {
  const facts = [
    ...[title, name].filter(isText).slice(0, 1),
    ...[uri, mimeType].filter(isText),
    ...(typeof size === 'number' ? [formatSize(size)] : []),
  ]
  return `[Resource: ${facts.join(', ')}]${isText(description) ? ` ${description}` : ''}`
}

/** Shows the text of an embedded resource below its address. */
function describeResource(resource: unknown, place: string): string {
  if (!isFields(resource)) return `[${place} is a resource that is not an object: not shown]`
  const { uri, mimeType, text, blob } = resource
  if (typeof text === 'string') return `[${[uri, mimeType].filter(isText).join(', ')}]\n${text}`
  const data = describeData('resource', mimeType, blob)
  return isText(uri) ? `[${uri}: ${data.slice(1)}` : data
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/**
 * Whether texts say the same as a structured result, as the specification asks of servers: one of them, or all together.
 * A result that is no object stands in a member of its own, and servers write its value alone as text.
 */
function hasJson(texts: string[], structured: unknown): boolean {
  const members = isFields(structured) ? Object.values(structured) : []
  const values = [structured, ...(members.length === 1 ? members : [])].map(canonicalize)
  const written = texts.map(parse)
  return [...written, written].some((each) => values.includes(canonicalize(each)))
}

/** Returns the value of JSON; of any other text the text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const canonicalize = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    isFields(each) ? Object.fromEntries(Object.entries(each).toSorted(byKey)) : toNumber(each),
  )

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0

/** Texts are compared as plain JSON, so that large numbers round alike. */
const toNumber = (value: unknown): unknown => (isRawNumber(value) ? Number(value.rawJSON) : value)
