import { turns } from '../../../config'
import { tierOf } from '../pick'
import { BestOrder } from './lower-bound'
import type { Population } from './population'

/** Numbers by size: enough to tell a percentile within 2 %, whatever their count. */
class Histogram {
  readonly #counts = new Map<number, number>()
  #total = 0
  max = 0

  add(value: number): void {
    const bucket = Math.ceil(Math.log(Math.max(value, 1e-3)) / Math.log(1.02))
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1)
    this.#total++
    this.max = Math.max(this.max, value)
  }

  percentile(share: number): number {
    let seen = 0
    for (const bucket of [...this.#counts.keys()].sort((a, b) => a - b)) {
      seen += this.#counts.get(bucket) ?? 0
      if (seen >= share * this.#total) return Math.min(this.max, 1.02 ** bucket)
    }
    return 0
  }
}

export interface TierReport {
  weight: number
  agents: number
  p99Slots: number
  maxSlots: number
}

export interface Report {
  decisions: number
  explorations: number
  answers: number
  /** Weighted age over the least that any order could reach; NaN when everybody is called by name. */
  ratio: number
  ageP99Slots: number
  inboxP99Slots: number
  inboxMaxSlots: number
  /** Agents and tasks that waited far longer than their share of the floor would have let them. */
  starved: number
  tiers: TierReport[]
}

/** A ready agent that waits so many times what the floor alone would give it is starved ... */
const starvedFactor = 2
/** ... and so is a task that waits two hours. */
const starvedTaskMs = 7_200_000

/**
 * Watches a simulation from `from` on. The ratio is over the agents that nobody called by name:
 * who is called is not the scheduler's choice.
 */
export class Measure {
  readonly #population: Population
  readonly #from: number
  readonly #tierOfAgent: Uint8Array
  readonly #area: Float64Array
  readonly #longestReady: Float64Array
  readonly #ages = Array.from({ length: turns.weightTiers }, () => new Histogram())
  readonly #allAges = new Histogram()
  readonly #inbox = new Histogram()
  #freeTurns = 0
  #starvedTasks = 0
  explorations = 0
  answers = 0

  constructor(population: Population, from: number) {
    this.#population = population
    this.#from = from
    this.#tierOfAgent = Uint8Array.from(population.weight, tierOf)
    this.#area = new Float64Array(population.weight.length)
    this.#longestReady = new Float64Array(population.weight.length)
  }

  /** An agent's age grew from `since` to `now`; `isTurn` when that ended it. */
  addAge(id: number, since: number, now: number, isTurn: boolean): void {
    if (now <= this.#from) return
    const begun = Math.max(this.#from, since)
    this.#area[id] = (this.#area[id] ?? 0) + ((now - since) ** 2 - (begun - since) ** 2) / 2
    const slots = (now - since) / turns.slotMs
    this.#ages[this.#tierOfAgent[id] ?? 0]?.add(slots)
    this.#allAges.add(slots)
    if (isTurn && id >= this.#population.popular) this.#freeTurns++
  }

  addReadyWait(id: number, ms: number): void {
    if (ms > (this.#longestReady[id] ?? 0)) this.#longestReady[id] = ms
  }

  addTaskWait(ms: number, now: number): void {
    if (now <= this.#from) return
    this.#inbox.add(ms / turns.slotMs)
    if (ms > starvedTaskMs) this.#starvedTasks++
  }

  /** @param floorPerMs turns a millisecond that exploration has at the very least */
  report(now: number, floorPerMs: number): Report {
    const { weight, popular } = this.#population
    const free = Array.from({ length: weight.length - popular }, (_, at) => popular + at)
    const spanMs = now - this.#from
    const least = new BestOrder(this.#population, free, this.#freeTurns / spanMs).weightedAge()
    const reached = free.reduce((sum, id) => sum + (weight[id] ?? 1) * (this.#area[id] ?? 0), 0)
    return {
      decisions: this.explorations + this.answers,
      explorations: this.explorations,
      answers: this.answers,
      ratio: reached / spanMs / least,
      ageP99Slots: this.#allAges.percentile(0.99),
      inboxP99Slots: this.#inbox.percentile(0.99),
      inboxMaxSlots: this.#inbox.max,
      starved: this.#countStarved(floorPerMs),
      tiers: this.#reportTiers(),
    }
  }

  #countStarved(floorPerMs: number): number {
    const everybody = Array.from(this.#population.weight.keys())
    const atFloor = new BestOrder(this.#population, everybody, floorPerMs)
    const agents = everybody.filter(
      (id) => (this.#longestReady[id] ?? 0) > starvedFactor * atFloor.gapOf(id),
    )
    return agents.length + this.#starvedTasks
  }

  #reportTiers(): TierReport[] {
    return this.#ages.map((ages, tier) => {
      const members = this.#tierOfAgent.filter((each) => each === tier)
      const weights = this.#population.weight.filter((_, id) => this.#tierOfAgent[id] === tier)
      return {
        weight: weights.length > 0 ? weights.reduce((sum, each) => sum + each) / weights.length : 0,
        agents: members.length,
        p99Slots: ages.percentile(0.99),
        maxSlots: ages.max,
      }
    })
  }
}
