import { boundWait } from '../../shared/bounded-wait'
import { rateCounting } from '../../shared/config'

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

/** A map of a limited size: the least recently set entries are dropped. */
export class RecentMap<Value> {
  readonly #entries = new Map<string, Value>()
  readonly #sizeMax: number

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#sizeMax) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
