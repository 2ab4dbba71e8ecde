import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { isRawNumber, parseLosslessJson } from '../../shared/exact-json'

export type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)

/** A server-sent event of a stream with messages. */
export interface ServerEvent {
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
