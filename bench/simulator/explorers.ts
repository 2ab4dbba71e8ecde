import { computeEligibleAt } from '../../src/agents/scheduler/explain'
import { pick, type TierHead, tierOf } from '../../src/agents/scheduler/explorer-index'
import { explorationScheduling } from '../../src/shared/config'
import { Heap } from './heap'
import type { Population } from './population'

/** Priority index of an agent by weight and staleness in slots; see `computeIndex`. */
export type IndexRule = (weight: number, slots: number) => number

const waiting = 0
const ready = 1
const running = 2

/**
 * The exploration order in memory, with the same rules as the scheduler's SQLite index: agents wait
 * until they are eligible, then queue in their tier by (last explored, id). Outdated heap entries are
 * dropped when they are read.
 */
export class Explorers {
  readonly lastExploredAt: Float64Array
  readonly readySince: Float64Array
  readonly #population: Population
  readonly #tier: Uint8Array
  readonly #state: Uint8Array
  readonly #eligibleAt: Float64Array
  readonly #failures: Uint16Array
  /** Of any activation. */
  readonly #lastActivatedAt: Float64Array
  readonly #tiers = Array.from({ length: explorationScheduling.weightTiers }, () => new Heap())
  readonly #waiting = new Heap()

  constructor(population: Population, lastExploredAt: Float64Array) {
    const { weight } = population
    this.#population = population
    this.lastExploredAt = lastExploredAt
    this.#lastActivatedAt = lastExploredAt.slice()
    this.readySince = new Float64Array(weight.length)
    this.#tier = Uint8Array.from(weight, tierOf)
    this.#state = new Uint8Array(weight.length)
    this.#eligibleAt = new Float64Array(weight.length)
    this.#failures = new Uint16Array(weight.length)
    for (let id = 0; id < weight.length; id++) this.#queue(id)
  }

  /** Moves agents that are eligible by now to their tiers. */
  promote(now: number): void {
    while (this.#waiting.peekKey() <= now) {
      const at = this.#waiting.peekKey()
      const id = this.#waiting.pop()
      if (this.#state[id] !== waiting || this.#eligibleAt[id] !== at) continue
      this.#state[id] = ready
      this.readySince[id] = at
      this.#tiers[this.#tier[id] ?? 0]?.push(this.lastExploredAt[id] ?? 0, id)
    }
  }

  nextEligibleAt(): number {
    return this.#waiting.peekKey()
  }

  /** Returns the agent that explores next, or -1. */
  pick(now: number, rule?: IndexRule): number {
    const heads: TierHead<number>[] = []
    for (let tier = 0; tier < explorationScheduling.weightTiers; tier++) {
      const id = this.#headOf(tier)
      if (id >= 0) heads.push({ id, tier, lastExploredAt: this.lastExploredAt[id] ?? 0 })
    }
    return pick(heads, now, rule)?.id ?? -1
  }

  start(id: number): void {
    this.#state[id] = running
  }

  /** Ends an exploration, or with `isExploration` false another activation. */
  finish(id: number, now: number, hasFailed: boolean, isExploration = true): void {
    this.#failures[id] = hasFailed ? (this.#failures[id] ?? 0) + 1 : 0
    this.#lastActivatedAt[id] = now
    if (isExploration) this.lastExploredAt[id] = now
    this.#queue(id)
  }

  isReady(id: number): boolean {
    return this.#state[id] === ready
  }

  #queue(id: number): void {
    const eligibleAt = computeEligibleAt({
      agentId: String(id),
      lastExploredAt: this.lastExploredAt[id] ?? 0,
      lastActivatedAt: this.#lastActivatedAt[id] ?? 0,
      intervalMs: this.#population.intervalMs[id] ?? explorationScheduling.intervalMs,
      failures: this.#failures[id] ?? 0,
    })
    this.#state[id] = waiting
    this.#eligibleAt[id] = eligibleAt
    this.#waiting.push(eligibleAt, id)
  }

  #headOf(tier: number): number {
    const heap = this.#tiers[tier]
    while (heap && heap.size > 0) {
      const id = heap.peekId()
      if (this.#state[id] === ready && this.lastExploredAt[id] === heap.peekKey()) return id
      heap.pop()
    }
    return -1
  }
}
