import type { ModelUsage } from '../loop/message'
import type { RetryPolicy } from './providers/retry-policy'

function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** Returns the HTTP status, or the one that a streamed error's type stands for; null without either. */
export function readStatus(
  error: unknown,
  { streamedErrors: streamed }: RetryPolicy,
): number | null {
  const status = readField(error, 'statusCode')
  // The status of a 200 whose body could not be read says nothing about the failure.
  if (typeof status === 'number' && status >= 400) return status
  const code = readField(error, 'code')
  if (typeof code === 'number' && code >= 400 && code < 600) return code
  for (const kind of [code, readField(error, 'type')]) {
    const known = typeof kind === 'string' && Object.hasOwn(streamed, kind) ? streamed[kind] : null
    if (known) return known
  }
  return null
}

/** Returns the usage that the body of an error reports; null without one. */
export function readUsage(error: unknown): ModelUsage | null {
  const data = readField(error, 'data') ?? parseJson(readField(error, 'responseBody'))
  const usage = readField(data, 'usage') ?? readField(readField(data, 'error'), 'usage')
  const input = readField(usage, 'input_tokens') ?? readField(usage, 'prompt_tokens')
  const output = readField(usage, 'output_tokens') ?? readField(usage, 'completion_tokens')
  if (typeof input !== 'number') return null
  return {
    inputTokens: input,
    cachedTokens: 0,
    outputTokens: typeof output === 'number' ? output : 0,
    reasoningTokens: 0,
  }
}

/**
 * Returns what a provider says of its failure, in whatever form its body has: `error.metadata.raw` of gateways, an error's
 * `message`, `detail`, `error` or `msg`, the first of a list, or plain text. Null where it says nothing readable.
 */
export function findWords(error: unknown): string | null {
  const body = readField(error, 'responseBody')
  const said = findText(parseJson(body) ?? readField(error, 'data'), 0)
  if (said !== '') return said
  if (typeof body === 'string' && /^\s*[^\s<[{]/.test(body)) return body.trim()
  const message = readField(error, 'message')
  return typeof message === 'string' && message !== '' ? message : null
}

/** Fields that hold words, or what does, the most specific first. */
const wordFields = ['metadata', 'raw', 'error', 'message', 'detail', 'details', 'errors', 'msg']
const wordDepthMax = 5

function findText(value: unknown, depth: number): string {
  if (typeof value === 'string') {
    // Gateways quote the body of the provider behind them.
    const isQuoted = value.startsWith('{') && depth < wordDepthMax
    return (isQuoted && findText(parseJson(value), depth + 1)) || value.trim()
  }
  if (typeof value !== 'object' || value === null || depth > wordDepthMax) return ''
  const found = Array.isArray(value)
    ? value.slice(0, 3)
    : wordFields.map((name) => readField(value, name))
  for (const each of found) {
    const text = findText(each, depth + 1)
    if (text !== '') return text
  }
  return ''
}

function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export function readHeaders(error: unknown): Record<string, string> {
  const headers = readField(error, 'responseHeaders')
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {}
}

const networkWords =
  /network|connection|connect|socket|fetch failed|econn|terminated|disconnected|reset|internal error/i

/** Whether the connection broke. Runtimes word this differently, often in the cause only. */
export function isNetworkError(error: unknown): boolean {
  let current = error
  for (let depth = 0; depth < 5 && current !== undefined; depth++) {
    const name = readField(current, 'name')
    if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError') return false
    const words = `${String(readField(current, 'code'))} ${String(readField(current, 'message'))}`
    if (networkWords.test(words)) return true
    current = readField(current, 'cause')
  }
  return false
}

/**
 * Returns the delay of `Retry-After` in milliseconds, or null without one. The header is a number of
 * seconds or an HTTP date (RFC 9110, 10.2.3); some providers add a finer `retry-after-ms`.
 */
export function readRetryAfter(headers: Record<string, string>, now: number): number | null {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (exact >= 0 && Number.isFinite(exact)) return Math.ceil(exact)
  const header = headers['retry-after']
  if (header === undefined || header.trim() === '') return null
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.ceil(seconds * 1_000) : null
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}

/** Returns the codes and types of a streamed error, or of the error in a response's body. */
export function readKinds(error: unknown): string[] {
  const data = readField(error, 'data')
  const bodyError = readField(data, 'error') ?? data
  return [error, bodyError]
    .flatMap((each) => [readField(each, 'code'), readField(each, 'type')])
    .filter((kind) => typeof kind === 'string')
}

/** Whether an error is final in spite of its status: a used-up quota answers 429 too. */
export function isHopeless(error: unknown, { finalErrors: hopeless }: RetryPolicy): boolean {
  const texts = ['responseBody', 'code', 'type', 'message'].map((name) => readField(error, name))
  return hopeless.some((words) => texts.some((text) => String(text ?? '').includes(words)))
}
