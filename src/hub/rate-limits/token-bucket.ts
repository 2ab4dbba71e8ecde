import { boundWait } from '../../shared/bounded-wait'

/** A limit: so many requests a period, at once or spread over it. */
export interface RateRule {
  requests: number
  periodMs: number
}

/** What a subject has used of its limit, as of a time. */
export interface Bucket {
  /** Each request adds the period in milliseconds, each millisecond takes the limit away: all integers. */
  used: number
  /** Milliseconds since the Unix epoch. */
  at: number
}

/** Whether a request may pass, and what its answer says about the limit. */
export interface RateDecision {
  isAllowed: boolean
  limit: number
  remaining: number
  /** When all requests are available again, in milliseconds since the Unix epoch. */
  resetsAt: number
  /** Milliseconds until the next request may pass; 0 when this one does. */
  retryAfterMs: number
}

/**
 * Takes one token. A bucket holds `requests` tokens and refills evenly over the period, so that a client
 * below the limit never waits.
 */
export function takeToken(
  bucket: Bucket | undefined,
  { requests, periodMs }: RateRule,
  now: number,
): { bucket: Bucket; decision: RateDecision } {
  const capacity = requests * periodMs
  const elapsed = Math.max(0, now - (bucket?.at ?? now))
  const before = Math.max(0, (bucket?.used ?? 0) - elapsed * requests)
  const excess = before + periodMs - capacity
  const isAllowed = excess <= 0
  const used = isAllowed ? before + periodMs : before
  return {
    bucket: { used, at: Math.max(now, boundWait(bucket?.at ?? now, now, periodMs)) },
    decision: {
      isAllowed,
      limit: requests,
      remaining: Math.floor((capacity - used) / periodMs),
      resetsAt: now + Math.ceil(used / requests),
      retryAfterMs: isAllowed ? 0 : Math.ceil(excess / requests),
    },
  }
}
