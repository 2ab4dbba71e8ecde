/** Which failures of a provider may be gone a moment later (L24). */
export interface RetryPolicy {
  statuses: ReadonlySet<number>
  /** Error types of streamed errors, which have no status of their own, and what they stand for. */
  streamed: Readonly<Record<string, number>>
  /** Words of errors whose status says "later" although waiting does not help. */
  hopeless: readonly string[]
}

/** 529 is Anthropic's "overloaded"; proxies of it say so too. */
export const transientStatuses = [429, 500, 502, 503, 504, 529] as const

/** What servers that follow OpenAI's protocols have in common. */
export const openAIRetryPolicy: RetryPolicy = {
  statuses: new Set(transientStatuses),
  streamed: {
    rate_limit_error: 429,
    rate_limit_exceeded: 429,
    insufficient_quota: 429,
    overloaded_error: 529,
    server_overloaded: 503,
    server_error: 500,
    api_error: 500,
  },
  hopeless: ['insufficient_quota'],
}
