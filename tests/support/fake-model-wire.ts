/** What the fake model server is told to answer, and what its three wire protocols share. */

export interface FakeCall {
  /** Made from the request's number when left out. */
  id?: string
  name: string
  /** A string is sent as it is, so it may be broken JSON. */
  arguments: unknown
}

export interface FakeAnswer {
  text?: string
  /** Thinking; Anthropic and OpenAI sign or encrypt it. */
  reasoning?: string
  calls?: FakeCall[]
  /** Null: the provider tells none. `cached` and `written` are part of `input`. */
  usage?: {
    input: number
    output: number
    cached?: number
    written?: number
    reasoning?: number
  } | null
  /** The provider's bill is the worst there can be: a token a byte, and as much text as allowed. */
  isDearest?: boolean
  /** `unheard-of`: a reason that no package knows; `error`: the provider's word for a failure. */
  finish?: 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'unheard-of' | 'error'
  /** Chat Completions: cached tokens in a field that one server found on its own. */
  hits?: boolean
  /** Before the first byte. */
  latencyMs?: number
  /** Between pieces. */
  pieceMs?: number
  /** Characters a piece; 12 when left out. */
  pieceChars?: number
  /** An HTTP error instead of an answer. */
  status?: number
  retryAfter?: string
  retryAfterMs?: string
  /** What the HTTP error says; may be made to hold a secret. */
  message?: string
  /**
   * reset: the connection breaks before any answer; cut: it breaks after half of the answer;
   * end: the stream ends cleanly after the text, without saying that it is finished; stall: half
   * of the answer, then nothing; comments: like stall, but comment lines keep coming; garbage: a
   * 200 that is not the protocol; html: a 200 that is a web page; error: an error event in
   * mid-stream.
   */
  fault?: 'reset' | 'cut' | 'end' | 'stall' | 'comments' | 'garbage' | 'html' | 'error'
}

export type Protocol = 'anthropic' | 'responses' | 'chat'

/** Events of one answer: `content` may be cut anywhere, `ending` says that it is finished. */
export interface WireEvents {
  content: string[]
  ending: string[]
}

export const named = (event: { type: string; [field: string]: unknown }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
export const bare = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`

export const split = (text: string, chars: number) =>
  Array.from({ length: Math.ceil(text.length / chars) }, (_, i) =>
    text.slice(i * chars, (i + 1) * chars),
  )

export const rawArguments = (call: FakeCall) =>
  typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)

export function reasonOf(answer: FakeAnswer): NonNullable<FakeAnswer['finish']> {
  return answer.finish ?? (answer.calls?.length ? 'tool-calls' : 'stop')
}

export function usageOf(answer: FakeAnswer) {
  if (answer.usage === null) return null
  return { input: 100, output: 20, cached: 0, written: 0, reasoning: 0, ...answer.usage }
}

/** An error event as it comes in the middle of a stream. */
export function toErrorEvent(protocol: Protocol, message: string): string {
  if (protocol === 'anthropic') {
    return named({ type: 'error', error: { type: 'overloaded_error', message } })
  }
  if (protocol === 'chat') return bare({ error: { type: 'server_error', message, code: null } })
  return named({
    type: 'error',
    sequence_number: 9,
    error: { type: 'server_error', code: 'server_error', message, param: null },
  })
}

/** The body of an HTTP error. */
export function toErrorBody(protocol: Protocol, status: number, message: string): unknown {
  const kinds: Record<number, string> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  }
  const error = { type: kinds[status] ?? 'api_error', message }
  if (protocol === 'anthropic') return { type: 'error', error }
  return { error: { ...error, code: null, param: null } }
}
