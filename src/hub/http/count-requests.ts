import type { Context } from 'hono'
import { type RateClass, rateLimits } from '../../shared/config'
import type { AttemptClass, RateLimiter } from '../rate-limits/rate-limiter'
import type { RateDecision } from '../rate-limits/token-bucket'
import type { Credential } from '../viewers/queries'
import { readCredential } from './authenticate'
import type { EntryRule } from './entry-rule'
import { type ClientAddress, findClientAddress } from './find-client-address'
import { httpErrors } from './http-errors'
import type { HubEnv } from './hub-env'

/** Who sends a request, and the class it counts in. */
interface Sender {
  credential: Credential | null
  /** Whether the credential was valid when it was last used. */
  isKnown: boolean
  address: ClientAddress
  rateClass: RateClass
}

const isAttempt = (rateClass: RateClass): rateClass is AttemptClass =>
  rateClass === 'signIn' || rateClass === 'register'

/**
 * Creates the counter of requests. A key or session that is known to be valid counts for itself; all
 * others count for the address, so that invented keys do not get limits of their own.
 */
export function createRequestCounter(limiter: RateLimiter) {
  /** @throws RATE_LIMITED */
  const count = async (c: Context<HubEnv>, rule: EntryRule): Promise<Sender> => {
    const sender = await identify(c, rule)
    const decision = await take(sender, c.var.context.clock.now())
    c.set('rateDecision', decision)
    if (!decision.isAllowed) throw httpErrors.rateLimited(decision.retryAfterMs)
    return sender
  }

  const identify = async (c: Context<HubEnv>, { rate }: EntryRule): Promise<Sender> => {
    // A malformed header is answered by the route.
    const credential = await readCredential(c).catch(() => null)
    const isAdminKey = credential?.isAdminKey === true
    const declared = typeof rate === 'function' ? rate(c) : rate
    return {
      credential,
      isKnown: isAdminKey || (credential !== null && limiter.isKnownCredential(credential.hash)),
      address: findClientAddress(c.req.raw.headers, c.var.context.settings, c.var.isLoopback),
      // The admin registers as many accounts as they like.
      rateClass: declared === 'register' && isAdminKey ? 'write' : declared,
    }
  }

  const take = async (sender: Sender, now: number): Promise<RateDecision> => {
    const { credential, isKnown, address, rateClass } = sender
    if (credential && !credential.isSession && !isKnown) {
      const backoffMs = limiter.findKeyBackoff(address.subject, now)
      if (backoffMs > 0) return refuseFor(backoffMs, rateClass, now)
    }
    if (isAttempt(rateClass)) return limiter.takeAttempt(rateClass, address.subject, now)
    const subject = credential && isKnown ? `credential ${credential.hash}` : address.subject
    return limiter.takeRequest(rateClass, { subject, isLoopback: address.isLoopback }, now)
  }

  /** Learns from an answer whether the credential of its request is valid. */
  const learn = async (c: Context<HubEnv>, sender: Sender): Promise<void> => {
    const { credential, address, rateClass } = sender
    if (c.var.isAuthenticated && credential) limiter.recordCredential(credential.hash, true)
    if (c.res.status !== 401) return
    const now = c.var.context.clock.now()
    if (rateClass === 'signIn') await limiter.recordFailedSignIn(address.subject, now)
    if (credential && !c.var.isAuthenticated) recordRejected(credential, sender, now)
  }

  const recordRejected = ({ hash, isSession }: Credential, sender: Sender, now: number): void => {
    limiter.recordCredential(hash, false)
    // An ended session or a revoked key is no guess.
    if (!isSession && !sender.isKnown) limiter.recordWrongKey(sender.address.subject, now)
  }

  return { count, learn }
}

const refuseFor = (waitMs: number, rateClass: RateClass, now: number): RateDecision => ({
  isAllowed: false,
  limit: rateLimits[rateClass].requests,
  remaining: 0,
  resetsAt: now + waitMs,
  retryAfterMs: waitMs,
})

/** Converts a decision to response headers; `X-RateLimit-Reset` is in seconds since the Unix epoch. */
export function describeDecision(decision: RateDecision): Record<string, string> {
  const { isAllowed, limit, remaining, resetsAt, retryAfterMs } = decision
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(resetsAt / 1_000)),
    ...(isAllowed ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }),
  }
}
