import type { Fetch } from '../model-port'

/** Connection settings of a provider's model. */
export interface ProviderConnection {
  /** Without a trailing slash. */
  baseUrl: string
  /** Empty when the server requires none. */
  key: string
  modelName: string
  fetch: Fetch
}

/** Which failures of a provider are transient, beside those whose status says so. */
export interface RetryPolicy {
  /** HTTP statuses by the type of a streamed error, which has no status of its own. */
  streamedErrors: Readonly<Record<string, number>>
  /** Texts of errors that are final although their status is transient. */
  finalErrors: readonly string[]
}

/**
 * Whether a status says that the same request can succeed later: a timeout (408), a conflict with another request (409),
 * too many (429), and every failure of the server or of what stands before it (520 to 530 at Cloudflare, 529
 * "overloaded" at Anthropic).
 */
export const isTransientStatus = (status: number): boolean =>
  [408, 409, 429].includes(status) || (status >= 500 && status <= 599)

/** Retry policy of servers that follow OpenAI's protocols. */
export const openAIRetryPolicy: RetryPolicy = {
  streamedErrors: {
    rate_limit_error: 429,
    rate_limit_exceeded: 429,
    insufficient_quota: 429,
    overloaded_error: 529,
    server_overloaded: 503,
    server_error: 500,
    api_error: 500,
  },
  finalErrors: ['insufficient_quota'],
}
