import { rateCounting } from '../../shared/config'
import type { RateDecision, RateRule } from './token-bucket'

/** Failures of an address: wrong keys, or failed sign-ins. */
export interface Failures {
  count: number
  /** The last one, in milliseconds since the Unix epoch. */
  at: number
}

/** Attempts of an address within the last period, oldest first, and its failures. */
export interface Attempts {
  times: number[]
  failures: Failures | null
}

export const noAttempts: Attempts = { times: [], failures: null }

/** Adds a failure; after a long time without one, counting starts again. */
export function addFailure(failures: Failures | null, now: number): Failures {
  const isForgotten = failures === null || now - failures.at >= rateCounting.forgetMs
  return { count: isForgotten ? 1 : failures.count + 1, at: now }
}

/** Returns the milliseconds for which an address has to wait after its failures; 0: none. */
export function computeBackoff(failures: Failures | null, free: number, now: number): number {
  if (failures === null || failures.count < free) return 0
  const { backoffBaseMs, backoffCapMs } = rateCounting
  const wait = Math.min(backoffCapMs, backoffBaseMs * 2 ** (failures.count - free))
  return Math.max(0, failures.at + wait - now)
}

/**
 * Takes one attempt of a limit that holds exactly: never more than `requests` in any period, and none
 * during the backoff after failures. A refused attempt does not count.
 */
export function takeAttempt(
  { times, failures }: Attempts,
  { requests, periodMs }: RateRule,
  now: number,
): { attempts: Attempts; decision: RateDecision } {
  const recent = times.filter((time) => time > now - periodMs)
  const backoffMs = computeBackoff(failures, rateCounting.failedSignInsFree, now)
  const isAllowed = recent.length < requests && backoffMs === 0
  const kept = isAllowed ? [...recent, now] : recent
  const freeAt = (kept[0] ?? now) + periodMs
  const fullMs = recent.length < requests ? 0 : freeAt - now
  return {
    attempts: { times: kept, failures },
    decision: {
      isAllowed,
      limit: requests,
      remaining: backoffMs > 0 ? 0 : requests - kept.length,
      resetsAt: Math.max((kept.at(-1) ?? now - periodMs) + periodMs, now + backoffMs),
      retryAfterMs: isAllowed ? 0 : Math.max(fullMs, backoffMs),
    },
  }
}
