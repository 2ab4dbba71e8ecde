import type { Message, ModelAnswer, ModelFailure } from '../loop/message'

/** What a model call needs; the same for every provider. */
export interface ModelRequest {
  messages: Message[]
  /** Empty: the `tools` field is left out (L3). */
  tools: { name: string; description: string; inputSchema: Record<string, unknown> }[]
  maxOutputTokens: number
  temperature?: number
  topP?: number
  /** The same for requests that begin alike, e.g. the agent's id; no secret (L14). */
  cacheKey?: string
  signal: AbortSignal
  /** Text and reasoning as they arrive. */
  onDelta?: (delta: { kind: 'text' | 'reasoning'; text: string }) => void
}

/** Prices in micro-dollars per million tokens, which is dollars per million times 1e6. */
export interface Prices {
  input: number
  cached: number
  /** Prompt tokens written to a cache; the price of `input` when left out. */
  cacheWrite?: number
  output: number
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
  /** Null: unknown model, counted in tokens and shown as unpriced (B7). */
  prices: Prices | null
  /** Never throws. One step: no retries here, they are the loop's. */
  call(
    request: ModelRequest,
  ): Promise<{ ok: true; answer: ModelAnswer } | { ok: false; failure: ModelFailure }>
}

/** What a definition's `brain` says about the model. */
export interface ModelChoice {
  provider?: string
  model?: string
  apiBase?: string
  /** Name of the environment variable that holds the key. */
  apiKeyEnv?: string
  contextTokens?: number
  /** Others that could do its tasks as well, as `provider/model`. */
  alternatives?: string[]
  /** The one of all these that LOAD has reserved money for (B6). */
  reserved?: string
  /** `provider/model` for one manual run; goes before all of the above (L27). */
  override?: string
}

export interface ModelRegistry {
  /**
   * The model for a choice. Without a key for its provider the offline model answers instead and
   * `substitutedFor` names the one that was asked for. An override that cannot be called throws
   * an `AppError` instead: who asks for a certain model by hand wants that one.
   */
  resolve(choice: ModelChoice): { model: Model; substitutedFor: string | null }
  /** Every model that could do the tasks of a definition now, the preferred one first; at least one. */
  list(choice: ModelChoice): Model[]
}
