/**
 * A tool call that a model asked for. Messages are independent of any wire format of a provider, in
 * the order system, user, assistant (with calls), tool results, assistant, ... Every call has
 * exactly one result.
 */
export interface ToolRequest {
  /** As the model gave it; `step` makes it unique within an activation. */
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
      /** Parts of the provider (reasoning with its signature) that are sent back unread; JSON. */
      providerParts?: string
    }
  | { role: 'tool'; results: ToolOutput[] }

export interface ModelUsage {
  /** Prompt tokens, cached ones included. */
  inputTokens: number
  cachedTokens: number
  /** Prompt tokens written to a cache, where they have a separate price; part of `inputTokens`. */
  cacheWriteTokens?: number
  /** Answer tokens, reasoning included. */
  outputTokens: number
  reasoningTokens: number
}

/** How an answer ended. `interrupted`: the stream ended cleanly but without a finish reason. */
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
  /**
   * As the provider reported it, not validated; null when it reported none and usage is estimated.
   */
  usage: ModelUsage | null
  providerParts?: string
}

/** A model call without an answer. Returned as data, not thrown. */
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
    /** The call failed inside the hub, not at the provider. */
    | 'HUB_UNREACHABLE'
  /** Readable by people. Contains no secret and no text of users. */
  message: string
  /**
   * The error text of the provider, without keys and truncated: shown in the trace only, since it
   * may quote the prompt.
   */
  detail?: string | null
  isRetryable: boolean
  /** From the `Retry-After` header. */
  retryAfterMs: number | null
  /** The provider may have processed the request, so it is charged at its worst case. */
  mayBeCharged: boolean
}
