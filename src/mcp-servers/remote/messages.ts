import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'
import { remoteServers } from '../../shared/config'
import { isRawNumber, parseLosslessJson } from '../../shared/exact-json'
import { formatBytes } from '../../shared/format'
import type { OfferedTool } from './pin'

/** The tools of a server, as far as its list can be read. */
export interface ToolList {
  tools: OfferedTool[]
  /** What is left out, with the reason, for the admin. */
  problems: string[]
  /** Nothing is left out by a limit: a tool that is not listed is gone. */
  isWhole: boolean
}

/**
 * Reads the lists of tools of all pages. A tool that cannot be read is left out with the reason, and no other with it.
 * A member that is null is absent.
 */
export function readTools(pages: { entries: unknown[]; isLast: boolean }[]): ToolList {
  const tools = new Map<string, OfferedTool>()
  const problems: string[] = []
  const entries = pages.flatMap((page) => page.entries)
  for (const [index, entry] of entries.slice(0, remoteServers.toolsMax).entries()) {
    const read = readTool(entry)
    if (typeof read !== 'string' && !tools.has(read.name)) tools.set(read.name, read)
    else
      problems.push(
        `${nameOf(entry, index)}: ${typeof read === 'string' ? read : 'it is listed twice'}`,
      )
  }
  const isWhole = pages.at(-1)?.isLast !== false && entries.length <= remoteServers.toolsMax
  if (!isWhole)
    problems.push(
      `Only the first ${Math.min(entries.length, remoteServers.toolsMax)} tools are read.`,
    )
  return { tools: [...tools.values()], problems: truncate(problems), isWhole }
}

const truncate = (problems: string[]): string[] => {
  const more = problems.length - remoteServers.problemsMax
  return more > 0
    ? [...problems.slice(0, remoteServers.problemsMax), `${more} more problems.`]
    : problems
}

const nameOf = (entry: unknown, index: number): string =>
  isFields(entry) && typeof entry.name === 'string' && entry.name !== ''
    ? `Tool ${JSON.stringify(entry.name.slice(0, remoteServers.toolNameCharsMax))}`
    : `Tool ${index + 1} of the list`

/** Returns a tool, or why it cannot be offered. */
function readTool(entry: unknown): OfferedTool | string {
  if (!isFields(entry)) return 'it is not an object'
  const { name, description, inputSchema, annotations } = entry
  const { toolNameCharsMax, schemaCharsMax, schemaDepthMax } = remoteServers
  if (typeof name !== 'string' || name === '') return 'it has no name'
  if (isResourceTool(name)) return 'its name is one of the hub'
  if (name.length > toolNameCharsMax)
    return `its name is longer than ${toolNameCharsMax} characters`
  if (!isAbsent(description) && typeof description !== 'string') return 'description is not a text'
  if (!isAbsent(inputSchema) && !isFields(inputSchema)) return 'inputSchema is not an object'
  const pin = {
    description: description ?? '',
    inputSchema: inputSchema ?? { type: 'object' },
    annotations: isFields(annotations) ? readAnnotations(annotations) : null,
  }
  const chars = JSON.stringify(pin).length
  if (chars > schemaCharsMax) {
    return `description and inputSchema have ${chars} characters, and ${schemaCharsMax} are allowed`
  }
  if (!isShallow(pin, schemaDepthMax)) return `inputSchema has more than ${schemaDepthMax} levels`
  return { name, ...pin }
}

const isAbsent = (value: unknown): value is null | undefined =>
  value === undefined || value === null

const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1)))

/** The annotations of the specification, in its order. */
const hints = [
  'title',
  'readOnlyHint',
  'destructiveHint',
  'idempotentHint',
  'openWorldHint',
] as const

const readAnnotations = (annotations: Fields): Fields =>
  Object.fromEntries(
    hints.flatMap((name) => {
      const isGood = typeof annotations[name] === (name === 'title' ? 'string' : 'boolean')
      return isGood ? [[name, annotations[name]]] : []
    }),
  )

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

/** Results are read member by member, so that one that is wrong does not lose the others. */
export const anyResult = z.looseObject({})

const annotations = { readOnlyHint: true }

/** The tools by which models read the resources of a server. An admin maps them like those of the server. */
const tools = {
  'resources:list': {
    description:
      'Lists the resources of this server: name, URI, type and description of each, and templates of URIs. For the next page, pass the cursor that a list ends with.',
    inputSchema: { type: 'object', properties: { cursor: { type: 'string' } } },
    annotations,
  },
  'resources:read': {
    description: 'Reads a resource of this server by its URI.',
    inputSchema: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    annotations,
  },
} as const

type ResourceTool = keyof typeof tools

/** Whether a name is that of a tool of the hub, which a server cannot take. */
export const isResourceTool = (name: string): name is ResourceTool => Object.hasOwn(tools, name)

export const resourceTools: OfferedTool[] = Object.entries(tools).map(([name, tool]) => ({
  name,
  ...tool,
}))

/** Calls a tool that reads the resources of a server. @returns null when the answer is not what the specification says */
export async function callResourceTool(
  client: Client,
  name: ResourceTool,
  input: Fields,
  options: RequestOptions,
): Promise<ReadResult | null> {
  const ask = (method: string, params: Fields) =>
    client.request({ method, params } as Parameters<Client['request']>[0], anyResult, options)
  if (name === 'resources:read') {
    const { contents } = await ask('resources/read', input)
    if (!Array.isArray(contents)) return null
    return readResult({ content: contents.map((resource) => ({ type: 'resource', resource })) })
  }
  const { resources, nextCursor } = await ask('resources/list', input)
  if (!Array.isArray(resources)) return null
  // Templates are optional, and stand on the first page only.
  const hasCursor = input.cursor !== undefined
  const templates = hasCursor ? {} : await ask('resources/templates/list', {}).catch(() => ({}))
  return readResult({
    content: [
      ...resources.map(toLink),
      ...toList('resourceTemplates' in templates && templates.resourceTemplates).map(toLink),
      ...(typeof nextCursor === 'string' && nextCursor !== ''
        ? [{ type: 'text', text: `[More: cursor ${JSON.stringify(nextCursor)}]` }]
        : []),
    ],
  })
}

const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Returns a resource or a template as a block of a result. */
const toLink = (entry: unknown): unknown =>
  isFields(entry) ? { ...entry, uri: entry.uri ?? entry.uriTemplate, type: 'resource_link' } : entry

export type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)

/** A server-sent event of a stream with messages. */
interface ServerEvent {
  /** From which the stream can be resumed; null: the event has none. */
  id: string | null
  /** How long to wait before the stream is resumed, in milliseconds; null: not stated. */
  retryMs: number | null
  data: string
}

/** Parses the text of one event. Fields that are not of the standard are ignored. */
export function parseEvent(text: string): ServerEvent {
  const event: ServerEvent = { id: null, retryMs: null, data: '' }
  const data: string[] = []
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'data') data.push(value)
    if (name === 'id' && !value.includes('\0')) event.id = value
    if (name === 'retry' && /^\d{1,9}$/.test(value)) event.retryMs = Number(value)
  }
  return { ...event, data: data.join('\n') }
}

/**
 * Returns the messages of a JSON text, in the form that the SDK takes: members that are not of JSON-RPC are dropped, and
 * those that are null are absent. What is no message is left out.
 *
 * @throws SyntaxError for text that is not JSON
 */
export const parseMessages = (text: string): JSONRPCMessage[] =>
  [parseLosslessJson(text)].flat().flatMap((each) => toMessage(each) ?? [])

function toMessage(value: unknown): JSONRPCMessage | null {
  if (!isFields(value)) return null
  const { id, method, params, result, error } = value
  const hasId = typeof id === 'number' || typeof id === 'string'
  if (typeof method === 'string') {
    const call = { jsonrpc: '2.0' as const, method, ...(isFields(params) && { params }) }
    return hasId ? { ...call, id } : call
  }
  if (isFields(error)) {
    const { code, message, data } = error
    return {
      jsonrpc: '2.0',
      // Only an error may lack the id: the server could not read the request.
      id: hasId ? id : -1,
      error: {
        code: Number.isSafeInteger(code) ? Number(code) : -32_603,
        message: typeof message === 'string' ? message : JSON.stringify(error),
        ...(data !== undefined && { data }),
      },
    }
  }
  if (!hasId || !('result' in value)) return null
  if (isFields(result)) return { jsonrpc: '2.0', id, result }
  return { jsonrpc: '2.0', id, error: { code: -32_603, message: 'The result is not an object' } }
}

/** Returns a value without the members that are null, at any depth. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isFields(value)) return value
  const members = Object.entries(value).filter(([, each]) => each !== null)
  return Object.fromEntries(members.map(([key, each]) => [key, withoutNulls(each)]))
}
