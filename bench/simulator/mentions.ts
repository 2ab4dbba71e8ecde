import { explorationScheduling } from '../../src/shared/config'
import type { Scenario } from './population'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Daily surge: from 10 to 11 people mention agents at three times the usual rate. */
const surge = { fromMs: 10 * hourMs, toMs: 11 * hourMs, factor: 3 }
/** Daily flood: from 14 to 15 agent 0 is mentioned twice a second. */
const flood = { fromMs: 14 * hourMs, toMs: 15 * hourMs, everyMs: 500 }
/** Daily drop: from 18 to 20 half of the capacity is unavailable. */
const drop = { fromMs: 18 * hourMs, toMs: 20 * hourMs, share: 0.5 }

const isWithin = (now: number, { fromMs, toMs }: { fromMs: number; toMs: number }): boolean => {
  const time = now % dayMs
  return time >= fromMs && time < toMs
}

/** Returns the capacity at a time, in activations. */
export const capacityAt = (scenario: Scenario, now: number): number =>
  scenario.hasDisruptions && isWithin(now, drop)
    ? Math.max(1, Math.floor(scenario.capacity * drop.share))
    : scenario.capacity

/** Generates mentions: the time of the next one, and the mentioned agent. */
export class MentionSource {
  readonly #scenario: Scenario
  readonly #popular: number
  readonly #random: () => number
  readonly #perMs: number
  #nextAt: number
  #nextFloodAt: number

  /** @param now a midnight */
  constructor(scenario: Scenario, popular: number, now: number, random: () => number) {
    this.#scenario = scenario
    this.#popular = popular
    this.#random = random
    this.#perMs = (scenario.inboxLoad * scenario.capacity) / explorationScheduling.slotMs
    this.#nextAt = this.#draw(now)
    this.#nextFloodAt = scenario.hasDisruptions ? now + flood.fromMs : Number.POSITIVE_INFINITY
  }

  get nextAt(): number {
    return Math.min(this.#nextAt, this.#nextFloodAt)
  }

  /** Removes the next mention and returns the agent that it mentions. */
  take(): number {
    const now = this.nextAt
    if (now === this.#nextFloodAt) {
      const next = now + flood.everyMs
      this.#nextFloodAt = isWithin(next, flood)
        ? next
        : Math.floor(now / dayMs) * dayMs + dayMs + flood.fromMs
      return 0
    }
    this.#nextAt = this.#draw(now)
    return Math.floor(this.#random() * this.#popular)
  }

  #draw(now: number): number {
    if (this.#perMs === 0 || this.#popular === 0) return Number.POSITIVE_INFINITY
    const isSurge = this.#scenario.hasDisruptions && isWithin(now, surge)
    const rate = this.#perMs * (isSurge ? surge.factor : 1)
    return now - Math.log(1 - this.#random()) / rate
  }
}
