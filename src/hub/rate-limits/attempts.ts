import { boundWait } from '../../shared/bounded-wait'
import { rateCounting } from '../../shared/config'
import type { RateDecision, RateRule } from './token-bucket'

const { backoffBaseMs, backoffCapMs } = rateCounting

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

/**
 * Returns attempts and failures without times that lie further ahead than a period: the clock was set back since. To be
 * stored when they differ from those given, which are returned when none does.
 */
export function boundAttempts(attempts: Attempts, { periodMs }: RateRule, now: number): Attempts {
  const { times, failures } = attempts
  const isAhead = (at: number, longestMs: number) => boundWait(at, now, longestMs) !== at
  if (!times.some((at) => isAhead(at, periodMs)) && !isAhead(failures?.at ?? 0, backoffCapMs)) {
    return attempts
  }
  return {
    times: times.map((at) => boundWait(at, now, 0)),
    failures: failures && boundFailures(failures, now),
  }
}

/** Returns failures whose last one is not further ahead than the longest wait after one. */
export const boundFailures = (failures: Failures, now: number): Failures =>
  boundWait(failures.at, now, backoffCapMs) === failures.at ? failures : { ...failures, at: now }

/** Adds a failure; after a long time without one, counting starts again. */
export function addFailure(failures: Failures | null, now: number): Failures {
  const isForgotten = failures === null || now - failures.at >= rateCounting.forgetMs
  return { count: isForgotten ? 1 : failures.count + 1, at: now }
}

/** Returns the milliseconds for which an address has to wait after its failures; 0: none. */
export function computeBackoff(failures: Failures | null, free: number, now: number): number {
  if (failures === null || failures.count < free) return 0
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
