/** Which failures of a provider are transient. */
export interface RetryPolicy {
  statuses: ReadonlySet<number>
  /** HTTP statuses by the type of a streamed error, which has no status of its own. */
  streamedErrors: Readonly<Record<string, number>>
  /** Texts of errors that are final although their status is transient. */
  finalErrors: readonly string[]
}

/** 529 is "overloaded" at Anthropic and its proxies. */
export const retryableStatuses = [429, 500, 502, 503, 504, 529] as const

/** Retry policy of servers that follow OpenAI's protocols. */
export const openAIRetryPolicy: RetryPolicy = {
  statuses: new Set(retryableStatuses),
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
