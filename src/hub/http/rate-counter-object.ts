import { DurableObject } from 'cloudflare:workers'
import { rateCounting } from '../../shared/config'
import {
  type Attempts,
  addFailure,
  boundAttempts,
  noAttempts,
  type RateDecision,
  type RateRule,
  takeAttempt,
} from './rate-counting'

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
