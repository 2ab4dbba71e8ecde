import { tierOf } from '../../src/agents/scheduler/explorer-index'
import { explorationScheduling } from '../../src/shared/config'
import { OptimalSchedule } from './lower-bound'
import type { Population } from './population'

/** Histogram with logarithmic buckets, which yields percentiles within 2 % for any number of values. */
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
  /** Weighted age over its lower bound. */
  ratio: number
  ageP99Slots: number
  inboxP99Slots: number
  inboxMaxSlots: number
  /** Number of agents and tasks that waited far longer than their reserved share requires. */
  starved: number
  tiers: TierReport[]
}

/**
 * An agent is starved when it is ready for this multiple of its optimal gap at the reserved capacity, or when its
 * explorations are that far apart and the longest backoff more.
 */
const starvedFactor = 2
/** A task is starved after two hours. */
const starvedTaskMs = 7_200_000

/** Measures a simulation from `from` on. The age of an agent is the time since its last exploration. */
export class Measure {
  readonly #population: Population
  readonly #from: number
  readonly #tierOfAgent: Uint8Array
  readonly #area: Float64Array
  readonly #longestReady: Float64Array
  readonly #oldestAge: Float64Array
  readonly #ages = Array.from({ length: explorationScheduling.weightTiers }, () => new Histogram())
  readonly #allAges = new Histogram()
  readonly #inbox = new Histogram()
  #measuredExplorations = 0
  #starvedTasks = 0
  explorations = 0
  answers = 0

  constructor(population: Population, from: number) {
    this.#population = population
    this.#from = from
    this.#tierOfAgent = Uint8Array.from(population.weight, tierOf)
    this.#area = new Float64Array(population.weight.length)
    this.#longestReady = new Float64Array(population.weight.length)
    this.#oldestAge = new Float64Array(population.weight.length)
  }

  /** Adds an agent's age from `since` to `now`; `isExploration` when an exploration ended it. */
  addAge(id: number, since: number, now: number, isExploration: boolean): void {
    if (now <= this.#from) return
    const begun = Math.max(this.#from, since)
    this.#area[id] = (this.#area[id] ?? 0) + ((now - since) ** 2 - (begun - since) ** 2) / 2
    const slots = (now - since) / explorationScheduling.slotMs
    this.#ages[this.#tierOfAgent[id] ?? 0]?.add(slots)
    this.#allAges.add(slots)
    this.#oldestAge[id] = Math.max(this.#oldestAge[id] ?? 0, now - since)
    if (isExploration) this.#measuredExplorations++
  }

  addReadyWait(id: number, ms: number): void {
    if (ms > (this.#longestReady[id] ?? 0)) this.#longestReady[id] = ms
  }

  addTaskWait(ms: number, now: number): void {
    if (now <= this.#from) return
    this.#inbox.add(ms / explorationScheduling.slotMs)
    if (ms > starvedTaskMs) this.#starvedTasks++
  }

  /**
   * Returns the measurements.
   *
   * @param floorPerMs explorations per millisecond that are always possible
   */
  report(now: number, floorPerMs: number): Report {
    const { weight } = this.#population
    const spanMs = now - this.#from
    const lowerBound = new OptimalSchedule(
      this.#population,
      [...weight.keys()],
      this.#measuredExplorations / spanMs,
    ).weightedAge()
    const weightedAge = weight.reduce((sum, each, id) => sum + each * (this.#area[id] ?? 0), 0)
    return {
      decisions: this.explorations + this.answers,
      explorations: this.explorations,
      answers: this.answers,
      ratio: weightedAge / spanMs / lowerBound,
      ageP99Slots: this.#allAges.percentile(0.99),
      inboxP99Slots: this.#inbox.percentile(0.99),
      inboxMaxSlots: this.#inbox.max,
      starved: this.#countStarved(floorPerMs),
      tiers: this.#reportTiers(),
    }
  }

  #countStarved(floorPerMs: number): number {
    const allAgents = Array.from(this.#population.weight.keys())
    const atFloor = new OptimalSchedule(this.#population, allAgents, floorPerMs)
    const backOffMsMax =
      explorationScheduling.backOffMsMax * (1 + explorationScheduling.backOffJitter)
    const { failChance } = this.#population
    const agents = allAgents.filter((id) => {
      // each run that fails begins a backoff, so one that always fails and is mentioned often does not explore
      if (failChance[id] === 1) return false
      const patience = starvedFactor * atFloor.gapOf(id)
      const isOld = (this.#oldestAge[id] ?? 0) > patience + backOffMsMax
      return isOld || (this.#longestReady[id] ?? 0) > patience
    })
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
