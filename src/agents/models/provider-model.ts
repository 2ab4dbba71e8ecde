import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ModelFailure } from '../loop/message'
import { classifyFailure, type FailureContext, toWrongProtocolFailure } from './classify-failure'
import { type Clock, startIdleTimer } from './idle-timer'
import { inlineToolCalls } from './inline-tool-calls'
import type { Model, ModelRequest } from './model-port'
import type { ModelProvider } from './providers/model-providers'
import { readStream } from './read-stream'
import { toPrompt } from './to-prompt'
import { type ByteListeners, createWatchedFetch, type Fetch } from './watched-fetch'

export interface ProviderModelOptions {
  provider: string
  definition: ModelProvider
  modelName: string
  baseUrl: string
  key: string
  keyVariable: string
  fetch: Fetch
  clock: Clock
  /** Idle timeout: a call fails after so long without a byte. */
  idleTimeoutMs: number
  limits: Pick<Model, 'contextTokens' | 'outputTokensMax' | 'prices'>
}

type CallResult = Awaited<ReturnType<Model['call']>>

/** Returns a provider's model behind the `Model` port. The loop does the retries. */
export function createProviderModel(options: ProviderModelOptions): Model {
  const {
    provider,
    definition: known,
    modelName,
    baseUrl,
    key,
    clock,
    idleTimeoutMs: silenceMs,
    limits,
  } = options
  const listeners: ByteListeners = new WeakMap()
  const fetch = createWatchedFetch(options.fetch, listeners)
  const id = `${provider}/${modelName}`
  let model: LanguageModelV4 | null = null
  const toFailure = (error: unknown, hasAnswerBegun: boolean): CallResult => {
    const context: FailureContext = {
      providerName: known.title,
      modelName,
      keyVariable: options.keyVariable,
      secrets: [key],
      now: clock.now(),
      hasAnswerStarted: hasAnswerBegun,
      retryPolicy: known.retryPolicy,
    }
    return { ok: false, failure: classifyFailure(error, context) }
  }

  async function stream(request: ModelRequest, signal: AbortSignal): Promise<CallResult> {
    try {
      model ??= known.createModel({ baseUrl, key, modelName, fetch })
      const callOptions = toCallOptions({ id, provider, known }, request, limits.outputTokensMax)
      const { stream, response } = await model.doStream({ ...callOptions, abortSignal: signal })
      const end = await readStream(id, stream, request.onDelta)
      if (end.kind === 'answer') return { ok: true, answer: end.answer }
      if (end.kind === 'error') return toFailure(end.error, end.hasAnswerBegun)
      const contentType = response?.headers?.['content-type'] ?? ''
      const source = { providerName: known.title, modelName }
      return {
        ok: false,
        failure: toWrongProtocolFailure(contentType, known.baseUrlSetting, source),
      }
    } catch (error) {
      return toFailure(error, false)
    }
  }

  return {
    id,
    provider,
    isOffline: false,
    ...limits,
    call: (request) =>
      callWatched(request, { clock, silenceMs, listeners, title: known.title }, stream),
  }
}

interface Watch {
  clock: Clock
  silenceMs: number
  listeners: ByteListeners
  title: string
}

/** Runs a call and ends it when it is cancelled or idle, even when its stream hangs. */
async function callWatched(
  request: ModelRequest,
  { clock, silenceMs, listeners, title }: Watch,
  stream: (request: ModelRequest, signal: AbortSignal) => Promise<CallResult>,
): Promise<CallResult> {
  if (request.signal.aborted) return { ok: false, failure: toCancellation(false) }
  const abort = new AbortController()
  let endCall: (failure: ModelFailure) => void = () => {}
  const stopped = new Promise<CallResult>((resolve) => {
    endCall = (failure) => {
      resolve({ ok: false, failure })
      abort.abort()
    }
  })
  const cancel = () => endCall(toCancellation(true))
  request.signal.addEventListener('abort', cancel, { once: true })
  const idleTimer = startIdleTimer(clock, silenceMs, () => endCall(toTimeout(title, silenceMs)))
  listeners.set(abort.signal, idleTimer.touch)
  try {
    return await Promise.race([stopped, stream(request, abort.signal)])
  } finally {
    idleTimer.stop()
    request.signal.removeEventListener('abort', cancel)
  }
}

function toCallOptions(
  { id, provider, known }: { id: string; provider: string; known: ModelProvider },
  request: ModelRequest,
  outputTokensMax: number,
): LanguageModelV4CallOptions {
  const { messages, tools } = request
  return {
    prompt: toPrompt(provider, tools.length === 0 ? inlineToolCalls(messages) : messages, id),
    maxOutputTokens: Math.min(request.maxOutputTokens, outputTokensMax),
    providerOptions: known.toOptions(request.cacheKey),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.topP === undefined ? {} : { topP: request.topP }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map((tool) => ({ type: 'function' as const, ...tool })) }),
  }
}

const toCancellation = (wasSent: boolean): ModelFailure => ({
  code: 'CANCELLED',
  message: 'The model call was cancelled.',
  isRetryable: false,
  retryAfterMs: null,
  mayBeCharged: wasSent,
})

const toTimeout = (title: string, silenceMs: number): ModelFailure => ({
  code: 'TIMEOUT',
  message: `${title} timed out: no data for ${silenceMs / 1_000} seconds.`,
  isRetryable: true,
  retryAfterMs: null,
  mayBeCharged: true,
})
