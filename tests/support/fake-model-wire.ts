/** Scripted answers of the fake model server, and helpers of its three wire protocols. */

export interface FakeCall {
  /** Default: derived from the request's number. */
  id?: string
  name: string
  /** Responses: of a tool that is offered inside a namespace. */
  namespace?: string
  /** A string is sent unchanged, so it may be malformed JSON. */
  arguments: unknown
}

export interface FakeAnswer {
  text?: string
  /** Reasoning; Anthropic and OpenAI sign or encrypt it. */
  reasoning?: string
  calls?: FakeCall[]
  /** Null: no usage is sent. `cached` and `written` are part of `input`. */
  usage?: {
    input: number
    output: number
    cached?: number
    written?: number
    reasoning?: number
  } | null
  /** Usage is the maximum possible: a token per byte, and as much output as allowed. */
  isDearest?: boolean
  /** `unheard-of`: a reason unknown to the packages; `error`: the provider's reason for a failure. */
  finish?: 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'unheard-of' | 'error'
  /** Chat Completions: cached tokens in a server-specific field. */
  hits?: boolean
  /** Chat Completions: the field of the reasoning, `reasoning_content` by default; a list for `..._details`. */
  reasoningField?: string
  /** Before the first byte. */
  latencyMs?: number
  /** Between pieces. */
  pieceMs?: number
  /** Characters per piece; default 12. */
  pieceChars?: number
  /** The last event is sent after it, so that a test decides how long the model writes. Only for tests in Node. */
  endsAfter?: Promise<unknown>
  /** An HTTP error instead of an answer. */
  status?: number
  retryAfter?: string
  retryAfterMs?: string
  /** Message of the HTTP error; may contain a secret. */
  message?: string
  /** The whole body as it is sent: an event stream, or with `status` the body of the error. */
  raw?: string
  /**
   * reset: the connection breaks before any answer; cut: it breaks after half of the answer;
   * end: the stream ends cleanly after the text, without a finish event; stall: half
   * of the answer, then nothing; comments: like stall, but comment lines keep coming; garbage: a
   * 200 that is not the protocol; html: a 200 that is a web page; error: an error event in
   * mid-stream.
   */
  fault?: 'reset' | 'cut' | 'end' | 'stall' | 'comments' | 'garbage' | 'html' | 'error'
}

export type Protocol = 'anthropic' | 'responses' | 'chat'

/** Events of one answer: `content` may break anywhere, `ending` has the finish event. */
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

/** Returns an error event in the middle of a stream. */
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

/** Returns the body of an HTTP error. */
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
