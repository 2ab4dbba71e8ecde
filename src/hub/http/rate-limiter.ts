import { DurableObject } from 'cloudflare:workers'
import { type RateClass, rateCounting, rateLimits } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import {
  type Attempts,
  addFailure,
  type Bucket,
  boundAttempts,
  boundFailures,
  computeBackoff,
  type Failures,
  noAttempts,
  type RateDecision,
  type RateRule,
  RecentMap,
  takeAttempt,
  takeToken,
} from './rate-counting'

/** Classes that count by address, and exactly. */
export type AttemptClass = 'signIn' | 'register'

type RequestClass = Exclude<RateClass, AttemptClass>

/** Counts requests. None of its methods reads the database. */
export interface RateLimiter {
  /** Takes one request of an account or address. */
  takeRequest(rateClass: RequestClass, sender: RateSender, now: number): Promise<RateDecision>
  /** Takes one sign-in or registration of an address, and of the IPv6 /48 that it is in. */
  takeAttempt(
    rateClass: AttemptClass,
    sender: { subject: string; wideSubject: string | null },
    now: number,
  ): Promise<RateDecision>
  /** Counts a failed sign-in of an address. */
  recordFailedSignIn(address: string, now: number): Promise<void>
  /** Counts a wrong key of an address. */
  recordWrongKey(address: string, now: number): void
  /** Returns the milliseconds for which keys of an address that are not known are refused; 0: none. */
  findKeyBackoff(address: string, now: number): number
  /** Records the account of a key or session, or null for one that is not valid; `hash` is of the credential. */
  recordCredential(hash: string, accountId: AccountId | null): void
  /** Returns the account of a key or session that was valid when it was last used in this isolate. */
  findAccount(hash: string): AccountId | null
}

/** Who a request counts for. */
interface RateSender {
  subject: string
  /** A program on the hub's own machine, whose limits are higher. */
  isLoopback: boolean
}

/** The platform's own limiters by class. They count a whole location, while memory counts one isolate. */
export type PlatformLimits = Partial<Record<RequestClass, RateLimit>>

export const toRateRule = (rateClass: RateClass): RateRule => ({
  requests: rateLimits[rateClass].requests,
  periodMs: rateLimits[rateClass].periodSeconds * 1_000,
})

/**
 * Creates the rate limiter of an isolate. Requests are counted in memory, and by the platform when it has
 * a limiter for their class; attempts by a Durable Object for each address.
 */
export function createRateLimiter(
  counters: DurableObjectNamespace<RateCounterObject>,
  platform: PlatformLimits = {},
): RateLimiter {
  const buckets = new RecentMap<Bucket>(rateCounting.subjectsMax)
  const wrongKeys = new RecentMap<Failures>(rateCounting.subjectsMax)
  const known = new RecentMap<AccountId>(rateCounting.subjectsMax)
  const counterOf = (rateClass: AttemptClass, address: string) =>
    counters.getByName(`${rateClass} ${address}`)
  const takeExactly = (name: AttemptClass, address: string, rule: RateRule, now: number) =>
    counterOf(name, address)
      .take(rule, now)
      // Without the object, for instance during an upgrade, this isolate counts alone.
      .catch(() => takeInMemory(`${name} ${address}`, rule, now))
  const takeInMemory = (name: string, rule: RateRule, now: number): RateDecision => {
    const { bucket, decision } = takeToken(buckets.get(name), rule, now)
    buckets.set(name, bucket)
    return decision
  }
  return {
    takeRequest: async (rateClass, { subject, isLoopback }, now) => {
      const rule = toRateRule(rateClass)
      if (isLoopback) rule.requests *= rateCounting.loopbackFactor
      const decision = takeInMemory(`${rateClass} ${subject}`, rule, now)
      const limit = isLoopback ? undefined : platform[rateClass]
      if (!decision.isAllowed || !limit || (await limit.limit({ key: subject })).success) {
        return decision
      }
      return refuseForPeriod(rule, now)
    },
    takeAttempt: async (rateClass, { subject, wideSubject }, now) => {
      const rule = toRateRule(rateClass)
      const decision = await takeExactly(rateClass, subject, rule, now)
      if (!decision.isAllowed || wideSubject === null) return decision
      rule.requests *= rateCounting.wideNetworkFactor
      const wide = await takeExactly(rateClass, wideSubject, rule, now)
      return wide.isAllowed ? decision : wide
    },
    recordFailedSignIn: (address, now) =>
      counterOf('signIn', address)
        .recordFailure(toRateRule('signIn'), now)
        .catch(() => undefined),
    recordWrongKey: (address, now) =>
      wrongKeys.set(address, addFailure(wrongKeys.get(address) ?? null, now)),
    findKeyBackoff: (address, now) => {
      const stored = wrongKeys.get(address)
      if (!stored) return 0
      const failures = boundFailures(stored, now)
      if (failures !== stored) wrongKeys.set(address, failures)
      return computeBackoff(failures, rateCounting.wrongKeysFree, now)
    },
    recordCredential: (hash, accountId) =>
      accountId === null ? known.delete(hash) : known.set(hash, accountId),
    findAccount: (hash) => known.get(hash) ?? null,
  }
}

/** The platform does not say when it counts again; its period is the longest that it can take. */
const refuseForPeriod = ({ requests, periodMs }: RateRule, now: number): RateDecision => ({
  isAllowed: false,
  limit: requests,
  remaining: 0,
  resetsAt: now + periodMs,
  retryAfterMs: periodMs,
})

const storedName = 'count'

interface StoredCount {
  attempts: Attempts
  /** When the count no longer matters, on the object's own clock: no caller's can delete it early. */
  expiresAt: number
}

/**
 * Counts the attempts of one address exactly, for sign-in and registration. There is one object for each
 * address and class; it deletes its data when none of it matters any more.
 */
export class RateCounterObject extends DurableObject {
  /** Takes one attempt at `now`, in milliseconds since the Unix epoch. */
  async take(rule: RateRule, now: number): Promise<RateDecision> {
    const stored = await this.#read()
    const bounded = boundAttempts(stored, rule, now)
    const { attempts, decision } = takeAttempt(bounded, rule, now)
    if (decision.isAllowed || bounded !== stored) await this.#write(attempts, rule.periodMs)
    return decision
  }

  /** Counts a failed attempt, after which the address has to wait longer. */
  async recordFailure(rule: RateRule, now: number): Promise<void> {
    const { times, failures } = await this.#read()
    await this.#write({ times, failures: addFailure(failures, now) }, rule.periodMs)
  }

  override async alarm(): Promise<void> {
    const stored = await this.ctx.storage.get<StoredCount>(storedName)
    if (stored && stored.expiresAt > Date.now()) await this.ctx.storage.setAlarm(stored.expiresAt)
    else await this.ctx.storage.deleteAll()
  }

  async #read(): Promise<Attempts> {
    return (await this.ctx.storage.get<StoredCount>(storedName))?.attempts ?? noAttempts
  }

  async #write(attempts: Attempts, periodMs: number): Promise<void> {
    const expiresAt = Date.now() + Math.max(periodMs, rateCounting.forgetMs)
    await this.ctx.storage.put<StoredCount>(storedName, { attempts, expiresAt })
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(expiresAt)
  }
}
