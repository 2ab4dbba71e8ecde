/**
 * The conversation with a model, free of any provider's wire format. Order: system, user,
 * assistant (with calls), tool results, assistant, ... Every call has exactly one result.
 */
export interface ToolRequest {
  /** As the model gave it; unique within an activation after `step` has made it so. */
  callId: string
  name: string
  /** Raw JSON as the model wrote it; may be malformed. */
  arguments: string
}

export interface ToolOutput {
  callId: string
  name: string
  text: string
  isError: boolean
}

export type Message =
  | { role: 'system'; text: string }
  | { role: 'user'; text: string }
  | {
      role: 'assistant'
      text: string
      calls: ToolRequest[]
      /** Provider parts (reasoning with its signature) to send back unread; JSON. */
      providerParts?: string
    }
  | { role: 'tool'; results: ToolOutput[] }

export interface ModelUsage {
  /** Prompt tokens, cached ones included. */
  inputTokens: number
  cachedTokens: number
  /** Prompt tokens written to a cache, where that has a price of its own; part of `inputTokens`. */
  cacheWriteTokens?: number
  /** Answer tokens, reasoning included. */
  outputTokens: number
  reasoningTokens: number
}

/** How an answer ended (L23). `interrupted`: the stream ended cleanly but without saying so. */
export type FinishReason =
  | 'stop'
  | 'tool-calls'
  | 'length'
  | 'content-filter'
  | 'error'
  | 'interrupted'
  | 'other'

export interface ModelAnswer {
  text: string
  reasoning: string
  calls: ToolRequest[]
  finish: FinishReason
  /** As the provider told it, true or not; null when it told none: then it is estimated (L18). */
  usage: ModelUsage | null
  providerParts?: string
}

/** A call that gave no answer. Data, not an exception. */
export interface ModelFailure {
  code:
    | 'PROVIDER_AUTH'
    | 'PROVIDER_BUSY'
    | 'PROVIDER_ERROR'
    | 'NETWORK'
    | 'TIMEOUT'
    | 'CONFIG'
    | 'INVALID_DEFINITION'
    | 'CANCELLED'
    /** Nothing was wrong with the provider: the way to it broke inside. */
    | 'HUB_UNREACHABLE'
  /** Readable by people, no secret and nothing of what users wrote in it. */
  message: string
  /** The provider's own words, without keys and cut short: for the trace alone (L35). */
  detail?: string | null
  isRetryable: boolean
  /** From `Retry-After`. */
  retryAfterMs: number | null
  /** The request may have been processed and so must be charged at its worst case (L36). */
  mayBeCharged: boolean
}
