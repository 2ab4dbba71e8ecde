import type { ModelConnection } from '../../hub/contract/hub'
import { modelGateway } from '../../shared/config'
import { truncateBody } from '../../shared/cut-text'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type { ModelPlace } from '../contract/coding-agents'
import type { Message, ModelAnswer, ModelFailure } from '../loop/message'
import { toWellFormedJson } from './to-prompt'

/** What a model has written since the last one. */
export interface Delta {
  kind: 'text' | 'reasoning'
  text: string
  /** The text replaces all of its kind: what came before turned out to be of the other kind. */
  isWhole?: boolean
}

/** A model call; the same for every provider. */
export interface ModelRequest {
  messages: Message[]
  /** The bytes of images in messages by id; one that is absent is gone, or the model does not see. */
  images?: ReadonlyMap<string, Uint8Array>
  /** The `tools` field is omitted when empty. */
  tools: { name: string; description: string; inputSchema: Record<string, unknown> }[]
  maxOutputTokens: number
  temperature?: number
  topP?: number
  /** Equal for requests with the same prefix, e.g. the agent's id; must not be a secret. */
  cacheKey?: string
  signal: AbortSignal
  /** Receives text and reasoning as they arrive. */
  onDelta?: (delta: Delta) => void
  /** Receives the number of characters of the answer so far, tool calls included. */
  onProgress?: (chars: number) => void
}

/** Prices in micro-dollars per million tokens, which is dollars per million times 1e6. */
export interface Prices {
  input: number
  cached: number
  /** Prompt tokens written to a cache; the price of `input` by default. */
  cacheWrite?: number
  output: number
}

/** How long a call waits for its model. */
export interface CallTimeouts {
  /** Until the first byte of the answer. */
  firstByteMs: number
  betweenBytesMs: number
}

/** A model ready to be called. */
export interface Model {
  /** `provider/model`. */
  id: string
  /** Executor or provider name for usage events, e.g. `anthropic`. */
  provider: string
  isOffline: boolean
  contextTokens: number
  outputTokensMax: number
  /** Null for an unknown model: usage is counted in tokens and shown as unpriced. */
  prices: Prices | null
  /** The model with a known price whose name is nearest, when this one has none. */
  similarTo?: string
  /** Whether it takes images; absent: no. */
  seesImages?: boolean
  /** The most tools that a request may list; absent: as many as fit into the context. */
  toolsMax?: number
  /** Time that the model has until the first byte of an answer; absent: it needs none. */
  firstByteMs?: number
  /** Calls the model once and never throws. The loop does the retries. */
  call(
    request: ModelRequest,
  ): Promise<{ ok: true; answer: ModelAnswer } | { ok: false; failure: ModelFailure }>
}

/** The model settings of a definition's `brain`. */
export interface ModelChoice {
  provider?: string
  model?: string
  apiBase?: string
  /** Name of the environment variable that holds the key. */
  apiKeyEnv?: string
  contextTokens?: number
  /** Timeouts of a call; those of the hub by default. */
  timeouts?: Partial<CallTimeouts>
  /** Other suitable models, as `provider/model`. */
  alternatives?: string[]
  /** The one of these models that LOAD has reserved budget for. */
  reserved?: string
  /** `provider/model` for one manual run; takes precedence over all of the above. */
  override?: string
}

export interface ModelRegistry {
  /**
   * Returns the model for a choice. Without a key for its provider this is the offline model, and
   * `substitutedFor` names the requested one. An override is never substituted.
   *
   * @param connections the providers that admins set up
   *
   * @throws AppError VALIDATION for an override whose provider is not configured
   */
  resolve(
    choice: ModelChoice,
    connections?: readonly ModelConnection[],
  ): { model: Model; substitutedFor: string | null }
  /** Lists the models that can run a definition's tasks now, the preferred one first; at least one. */
  list(choice: ModelChoice, connections?: readonly ModelConnection[]): Model[]
}

/** Where a model's provider answers requests of programs that bring their own client. */
export interface Upstream {
  provider: string
  /** Display name of the provider. */
  title: string
  protocols: readonly ModelProtocol[]
  /** As the provider names it. */
  modelName: string
  /** Without a trailing slash. */
  baseUrl: string
  /** Empty when the server requires none. */
  key: string
  /** The variable that holds the key, for messages. */
  keyVariable: string
  /** The setting, or the field of the definition, that holds `baseUrl`. */
  addressSetting: string
  timeouts: CallTimeouts
  /** Adds a key that an admin set up. */
  fetch: Fetch
  /** Removes that key from a text. */
  redact(text: string): string
}

export interface UpstreamFinder {
  /**
   * Returns where a model is, or null when its provider has no connection. The definition's address and key
   * apply to its own provider only.
   *
   * @param name `provider/model`
   * @param connections the providers that admins set up
   * @throws AppError VALIDATION for another name
   */
  findUpstream(
    name: string,
    place: ModelPlace,
    connections: readonly ModelConnection[],
  ): Upstream | null
}

export type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>

/** What a call learns of its response. */
interface ResponseListener {
  /** No connection was made, or it broke before any answer. */
  onUnreachable(): void
  /** The server has answered with a success; its body follows. */
  onAnswered(): void
  onBytes(): void
}

/** Listeners of calls, by the calls' abort signals. */
export type ResponseListeners = WeakMap<AbortSignal, ResponseListener>

/**
 * Returns a fetch that notifies the listener of its signal of the response and of arriving bytes, keep-alive comments
 * included, which provider packages do not pass on. Redirects are not followed, because they would
 * forward the key. The body is well-formed Unicode, whatever the texts in it were. What the server sends is read up to a
 * limit: an answer that is longer counts as interrupted.
 */
export function createWatchedFetch(fetch: Fetch, listeners: ResponseListeners): Fetch {
  return async (input, init) => {
    const listener = init?.signal ? listeners.get(init.signal) : undefined
    const body = init?.body
    const sent = typeof body === 'string' ? { body: toWellFormedJson(body) } : {}
    const response = await fetch(input, { ...init, ...sent, redirect: 'manual' }).catch((error) => {
      listener?.onUnreachable()
      throw error
    })
    const { answerBytesMax, errorBytesMax } = modelGateway
    if (!response.ok) return truncateBody(response, errorBytesMax)
    listener?.onAnswered()
    return truncateBody(response, answerBytesMax, listener?.onBytes)
  }
}

/** Clock and timers, replaceable in tests. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Runs `action` once after `ms`. Returns a function that cancels it. */
  setTimer(ms: number, action: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(ms, action) {
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}

interface ResponseTimer {
  /** Restarts the timeout: a byte arrived. */
  touch(): void
  stop(): void
}

/**
 * Calls `onTimeout` once: when no `touch` follows within the time for the first byte, or later within
 * the time between two bytes. After the first byte the timer is re-armed when it fires, not at every
 * byte: an answer arrives in thousands of pieces.
 */
export function startResponseTimer(
  clock: Clock,
  { firstByteMs, betweenBytesMs }: CallTimeouts,
  onTimeout: (phase: keyof CallTimeouts) => void,
): ResponseTimer {
  let touchedAt: number | null = null
  let cancelTimer = clock.setTimer(firstByteMs, () => onTimeout('firstByteMs'))
  function check(): void {
    const left = (touchedAt ?? 0) + betweenBytesMs - clock.now()
    if (left > 0) cancelTimer = clock.setTimer(left, check)
    else onTimeout('betweenBytesMs')
  }
  return {
    touch() {
      const isFirst = touchedAt === null
      touchedAt = clock.now()
      if (!isFirst) return
      cancelTimer()
      cancelTimer = clock.setTimer(betweenBytesMs, check)
    },
    stop: () => cancelTimer(),
  }
}
