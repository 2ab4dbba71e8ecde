import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { AppError } from '../../shared/errors'
import type { Message, ModelAnswer, ModelFailure } from '../loop/message'
import { fence } from '../text/fence'
import {
  type Arrival,
  classifyFailure,
  type FailureContext,
  toWrongProtocolFailure,
} from './classify-failure'
import {
  type CallTimeouts,
  type Clock,
  createWatchedFetch,
  type Fetch,
  type Model,
  type ModelRequest,
  type ResponseListeners,
  startResponseTimer,
} from './model-port'
import type { ModelProvider } from './providers/model-providers'
import { readStream } from './read-stream'
import { toPrompt } from './to-prompt'

interface ProviderModelOptions {
  provider: string
  definition: ModelProvider
  modelName: string
  baseUrl: string
  key: string
  keyVariable: string
  /** The setting, or the field of the definition, that holds `baseUrl`. */
  addressSetting: string
  fetch: Fetch
  /** Redacts a key that this module does not have. */
  redact: (text: string) => string
  clock: Clock
  timeouts: CallTimeouts
  limits: Pick<Model, 'contextTokens' | 'outputTokensMax' | 'prices' | 'similarTo' | 'seesImages'>
}

type CallResult = Awaited<ReturnType<Model['call']>>

/** Returns a provider's model behind the `Model` port. The loop does the retries. */
export function createProviderModel(options: ProviderModelOptions): Model {
  const { provider, definition: known, modelName, baseUrl, key, clock, timeouts, limits } = options
  const listeners: ResponseListeners = new WeakMap()
  const fetch = createWatchedFetch(options.fetch, listeners)
  const id = `${provider}/${modelName}`
  let model: LanguageModelV4 | null = null
  const toFailure = (error: unknown, arrival: Arrival): CallResult => {
    const context: FailureContext = {
      providerName: known.title,
      modelName,
      keyVariable: options.keyVariable,
      address: toPublicAddress(baseUrl),
      addressSetting: options.addressSetting,
      secrets: [key],
      now: clock.now(),
      ...arrival,
      retryPolicy: known.retryPolicy,
    }
    if (error instanceof AppError) return { ok: false, failure: toConfigFailure(error) }
    const failure = classifyFailure(error, context)
    const { detail } = failure
    return { ok: false, failure: detail ? { ...failure, detail: options.redact(detail) } : failure }
  }

  async function stream(
    request: ModelRequest,
    signal: AbortSignal,
    arrival: Arrival,
  ): Promise<CallResult> {
    try {
      model ??= known.createModel({ baseUrl, key, modelName, fetch })
      const callOptions = toCallOptions({ id, provider, known }, request, limits.outputTokensMax)
      const { stream, response } = await model.doStream({ ...callOptions, abortSignal: signal })
      const end = await readStream(id, stream, request)
      if (end.kind === 'answer') {
        const answer = redactAnswer(end.answer, options.redact)
        return (
          toWholeCalls(answer) ?? {
            ok: false,
            failure: toBrokenAnswer(known.title, answer, arrival),
          }
        )
      }
      if (end.kind === 'error') return toFailure(end.error, arrival)
      const contentType = response?.headers?.['content-type'] ?? ''
      const source = { providerName: known.title, modelName }
      return {
        ok: false,
        failure: toWrongProtocolFailure(contentType, options.addressSetting, source),
      }
    } catch (error) {
      return toFailure(error, arrival)
    }
  }

  return {
    id,
    provider,
    isOffline: false,
    ...(known.toolsMax !== undefined && { toolsMax: known.toolsMax }),
    ...limits,
    firstByteMs: timeouts.firstByteMs,
    call: (request) =>
      callWatched(request, { clock, timeouts, listeners, title: known.title }, stream),
  }
}

/** Returns the failure of a call that was not sent: its address is refused, or its key cannot be read. */
const toConfigFailure = ({ message, hint }: AppError): ModelFailure => ({
  code: 'CONFIG',
  message: hint === null ? message : `${message} ${hint}`,
  isRetryable: false,
  isPermanent: true,
  retryAfterMs: null,
  mayBeCharged: false,
})

/**
 * Returns an answer whose calls can be run, whatever word it gave for its end, or which has none; null for calls of which
 * it is not known that they arrived whole.
 */
function toWholeCalls(answer: ModelAnswer): CallResult | null {
  const { calls, finish } = answer
  if (calls.length === 0 || !['other', 'interrupted', 'error'].includes(finish))
    return { ok: true, answer }
  const areWhole = finish === 'other' && calls.every((call) => canParse(call.arguments))
  return areWhole ? { ok: true, answer: { ...answer, finish: 'tool-calls' } } : null
}

function canParse(json: string): boolean {
  try {
    JSON.parse(json || '{}')
    return true
  } catch {
    return false
  }
}

const toBrokenAnswer = (
  title: string,
  { usage }: ModelAnswer,
  { chars }: Arrival,
): ModelFailure => ({
  code: 'PROVIDER_ERROR',
  message: `${title} ended its answer within a call.`,
  isRetryable: true,
  retryAfterMs: null,
  mayBeCharged: true,
  received: { chars, ...(usage && { usage }) },
})

/** Redacts the key from an answer: a server can repeat what it was sent. */
const redactAnswer = (answer: ModelAnswer, redact: (text: string) => string): ModelAnswer => ({
  ...answer,
  text: redact(answer.text),
  reasoning: redact(answer.reasoning),
  calls: answer.calls.map((call) => ({ ...call, arguments: redact(call.arguments) })),
})

/** Returns a base URL without credentials and query. */
function toPublicAddress(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl)
  return `${origin}${pathname}`.replace(/(?<!\/)\/+$/, '')
}

interface Watch {
  clock: Clock
  timeouts: CallTimeouts
  listeners: ResponseListeners
  title: string
}

/** Runs a call and ends it when it is cancelled or timed out, even when its stream hangs. */
async function callWatched(
  request: ModelRequest,
  { clock, timeouts, listeners, title }: Watch,
  stream: (request: ModelRequest, signal: AbortSignal, arrival: Arrival) => Promise<CallResult>,
): Promise<CallResult> {
  const arrival: Arrival = { isUnreachable: false, hasResponse: false, chars: 0 }
  if (request.signal.aborted) return { ok: false, failure: toCancellation(null) }
  const watched: ModelRequest = {
    ...request,
    onProgress(chars) {
      arrival.chars = chars
      request.onProgress?.(chars)
    },
  }
  const abort = new AbortController()
  let endCall: (failure: ModelFailure) => void = () => {}
  const stopped = new Promise<CallResult>((resolve) => {
    endCall = (failure) => {
      resolve({ ok: false, failure })
      abort.abort()
    }
  })
  const cancel = () => endCall(toCancellation(arrival))
  request.signal.addEventListener('abort', cancel, { once: true })
  const timer = startResponseTimer(clock, timeouts, (phase) =>
    endCall(toTimeout(describeTimeout(title, phase, timeouts[phase]), arrival)),
  )
  listeners.set(abort.signal, {
    onUnreachable() {
      arrival.isUnreachable = true
    },
    onAnswered() {
      arrival.hasResponse = true
    },
    onBytes: timer.touch,
  })
  try {
    return await Promise.race([stopped, stream(watched, abort.signal, arrival)])
  } finally {
    timer.stop()
    request.signal.removeEventListener('abort', cancel)
  }
}

function toCallOptions(
  { id, provider, known }: { id: string; provider: string; known: ModelProvider },
  request: ModelRequest,
  outputTokensMax: number,
): LanguageModelV4CallOptions {
  const { tools, images } = request
  const messages = tools.length === 0 ? inlineToolCalls(request.messages) : request.messages
  return {
    prompt: toPrompt(provider, messages, { author: id, ...(images && { images }) }),
    maxOutputTokens: Math.min(request.maxOutputTokens, outputTokensMax),
    providerOptions: known.toOptions(request.cacheKey),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.topP === undefined ? {} : { topP: request.topP }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map((tool) => ({ type: 'function' as const, ...tool })) }),
  }
}

/** Returns the failure of a cancelled call; null stands for a call that was not sent. */
const toCancellation = (arrival: Arrival | null): ModelFailure => ({
  code: 'CANCELLED',
  message: 'The model call was cancelled.',
  isRetryable: false,
  retryAfterMs: null,
  mayBeCharged: arrival !== null,
  ...(arrival && { received: { chars: arrival.chars } }),
})

/** The setting and the field of a definition that raise a timeout. */
const timeoutSettings: Record<keyof CallTimeouts, string> = {
  firstByteMs:
    '`brain.timeout_seconds.first_byte` in the definition, or ROOKERY_MODEL_FIRST_BYTE_SECONDS',
  betweenBytesMs:
    '`brain.timeout_seconds.between_bytes` in the definition, or ROOKERY_MODEL_BETWEEN_BYTES_SECONDS',
}

const describeTimeout = (title: string, phase: keyof CallTimeouts, ms: number): string =>
  `${title} timed out: ` +
  (phase === 'firstByteMs' ? 'no answer began within' : 'the answer stopped for') +
  ` ${ms / 1_000} seconds. If the model is slow, raise ${timeoutSettings[phase]}.`

const toTimeout = (message: string, { chars }: Arrival): ModelFailure => ({
  code: 'TIMEOUT',
  message,
  isRetryable: true,
  retryAfterMs: null,
  mayBeCharged: true,
  received: { chars },
})

/**
 * Replaces tool calls and results by text, for a model call without tools after earlier calls with
 * them: providers refuse calls of tools that the request does not list. The text adds less than
 * `boundTokens` counts around a call and its result, except for one blank per fence tag within a
 * text, of ten bytes counted.
 */
const inlineToolCalls = (messages: Message[]): Message[] =>
  messages.flatMap((message): Message[] => {
    if (message.role === 'assistant' && message.calls.length > 0) {
      return message.text.trim() === ''
        ? []
        : [{ role: 'assistant', text: message.text, calls: [] }]
    }
    if (message.role !== 'tool') return [message]
    const results = message.results.map(({ name, text }) => fence('tool', { name }, text))
    return [{ role: 'user', text: results.join('\n') }]
  })
