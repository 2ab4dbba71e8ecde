import type { Context } from 'hono'
import { type RateClass, rateLimits } from '../../shared/config'
import type { RateRefusal } from '../contract/hub'
import type { RateLimiter } from '../rate-limits/rate-limiter'
import type { RateDecision } from '../rate-limits/token-bucket'
import { adminAccountId } from '../schema/accounts'
import type { Credential } from '../viewers/queries'
import { readCredential } from './authenticate'
import { createHolderCounter, isAttempt, type Sender } from './count-as-holder'
import type { EntryRule } from './entry-rule'
import { findClientAddress } from './find-client-address'
import { httpErrors } from './http-errors'
import type { HubDeps, HubEnv } from './hub-env'

/**
 * Creates the counter of requests. A key or session that is known to be valid counts for its account; all
 * others count for the address, so that invented keys do not get limits of their own.
 */
export function createRequestCounter(
  limiter: RateLimiter,
  findTokenHolder: HubDeps['findTokenHolder'],
) {
  const takeAsHolder = createHolderCounter(limiter, findTokenHolder)

  /**
   * @param readBody reads the body within its limits; only what the address refuses is read before it is counted
   * @throws RATE_LIMITED
   */
  const count = async (
    c: Context<HubEnv>,
    rule: EntryRule,
    readBody: () => Promise<void>,
  ): Promise<Sender> => {
    const sender = await identify(c, rule)
    const decision = await take(sender, c.var.context.clock.now())
    const isForAddress = sender.accountId === null || isAttempt(sender.rateClass)
    const isRefused = !decision.isAllowed && isForAddress
    admit(c, (isRefused && (await takeAsHolder(c, rule, sender, readBody))) || decision)
    c.set('countAs', async (rateClass) => {
      const accountId = c.var.accountId ?? sender.accountId
      const next = await take({ ...sender, accountId, rateClass }, c.var.context.clock.now())
      c.set('rateDecision', next)
      return next.isAllowed ? null : toRefusal(next)
    })
    return sender
  }

  const admit = (c: Context<HubEnv>, decision: RateDecision): void => {
    c.set('rateDecision', decision)
    if (!decision.isAllowed) throw httpErrors.rateLimited(decision.retryAfterMs)
  }

  const identify = async (c: Context<HubEnv>, { rate }: EntryRule): Promise<Sender> => {
    // A malformed header is answered by the route.
    const credential = await readCredential(c).catch(() => null)
    const isAdminKey = credential?.isAdminKey === true
    const declared = typeof rate === 'function' ? rate(c) : rate
    return {
      credential,
      accountId: isAdminKey ? adminAccountId : credential && limiter.findAccount(credential.hash),
      address: findClientAddress(c.req.raw.headers, c.var.context.settings, c.var.isLoopback),
      // The admin registers as many accounts as they like.
      rateClass: declared === 'register' && isAdminKey ? 'write' : declared,
    }
  }

  const take = async (sender: Sender, now: number): Promise<RateDecision> => {
    const { credential, accountId, address, rateClass } = sender
    if (credential && !credential.isSession && accountId === null) {
      const backoffMs = limiter.findKeyBackoff(address.subject, now)
      if (backoffMs > 0) return refuseFor(backoffMs, rateClass, now)
    }
    if (isAttempt(rateClass)) return limiter.takeAttempt(rateClass, address, now)
    const subject = accountId === null ? address.subject : `account ${accountId}`
    return limiter.takeRequest(rateClass, { subject, isLoopback: address.isLoopback }, now)
  }

  /** Learns from an answer whether the credential of its request is valid. */
  const learn = async (c: Context<HubEnv>, sender: Sender): Promise<void> => {
    const { credential, address, rateClass } = sender
    const { accountId } = c.var
    if (accountId && credential) limiter.recordCredential(credential.hash, accountId)
    if (c.res.status !== 401) return
    const now = c.var.context.clock.now()
    if (rateClass === 'signIn') await limiter.recordFailedSignIn(address.subject, now)
    if (credential && !accountId) recordRejected(credential, sender, now)
  }

  const recordRejected = ({ hash, isSession }: Credential, sender: Sender, now: number): void => {
    limiter.recordCredential(hash, null)
    // An ended session or a revoked key is no guess.
    if (!isSession && sender.accountId === null) limiter.recordWrongKey(sender.address.subject, now)
  }

  return { count, learn }
}

function toRefusal({ retryAfterMs }: RateDecision): RateRefusal {
  const { message, hint } = httpErrors.rateLimited(retryAfterMs)
  return { message: `${message} ${hint}`, retryAfterSeconds: toWholeSeconds(retryAfterMs) }
}

/** A wait as whole seconds, at least one. */
const toWholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000))

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
    ...(isAllowed ? {} : { 'retry-after': String(toWholeSeconds(retryAfterMs)) }),
  }
}
