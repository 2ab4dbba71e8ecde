import { computeWait } from '../../src/agents/scheduler/explain'
import { explorationScheduling } from '../../src/shared/config'
import type { Population } from './population'

/**
 * The lower bound of the weighted age over all schedules (Kadota et al., IEEE/ACM ToN 2018, with
 * minimum waits). An agent whose gaps between explorations are X has a mean age of E[X^2] / 2E[X] and
 * a rate of 1 / E[X]. Minimizing the weighted sum for a given price of an exploration yields one
 * optimal gap per agent, lengthened where its interval or backoff requires; the price is the one at
 * which the rates add up to the available explorations.
 */

/** A minimum wait before an agent's next exploration, and its probability. */
interface Wait {
  ms: number
  chance: number
}

/**
 * Agents with the same waits, which differ only by weight. By grid of chosen gaps: the marginal value
 * of an exploration for an agent of weight 1, and the moments of its gaps.
 */
interface Kind {
  worth: Float64Array
  mean: Float64Array
  square: Float64Array
}

const gridSize = 4_000
const gapMin = 60_000
const gapMax = 400 * 86_400_000
const jitterSteps = 8

/**
 * Returns the waits of an agent with this probability of failure. The probability of k is that of k
 * failures followed by a success; the last one includes all longer series.
 */
function listWaits(intervalMs: number, failChance: number): Wait[] {
  const waits: Wait[] = []
  for (let failures = 0; failures <= explorationScheduling.failuresMax; failures++) {
    const isLast = failures === explorationScheduling.failuresMax
    const chance = failChance ** failures * (isLast ? 1 : 1 - failChance)
    if (chance === 0) continue
    for (let step = 0; step < jitterSteps; step++) {
      const ms = computeWait(intervalMs, failures, (step + 0.5) / jitterSteps)
      waits.push({ ms, chance: chance / jitterSteps })
    }
  }
  return waits
}

/** Returns the mean of the gap and of its square when the agent chooses `gap`. */
function computeMoments(waits: Wait[], gap: number): { mean: number; square: number } {
  let mean = 0
  let square = 0
  for (const { ms, chance } of waits) {
    const taken = Math.max(gap, ms)
    mean += chance * taken
    square += chance * taken * taken
  }
  return { mean, square }
}

const gapAt = (at: number): number => gapMin * (gapMax / gapMin) ** (at / (gridSize - 1))

/** At the optimal gap x the marginal value equals the price: `w * (x * E[X] - E[X^2] / 2)`. */
function createKind(intervalMs: number, failChance: number): Kind {
  const waits = listWaits(intervalMs, failChance)
  const kind: Kind = {
    worth: new Float64Array(gridSize),
    mean: new Float64Array(gridSize),
    square: new Float64Array(gridSize),
  }
  for (let at = 0; at < gridSize; at++) {
    const gap = gapAt(at)
    const { mean, square } = computeMoments(waits, gap)
    kind.mean[at] = mean
    kind.square[at] = square
    kind.worth[at] = gap * mean - square / 2
  }
  return kind
}

/** Returns the grid position with this marginal value, interpolated. */
function findWorth({ worth }: Kind, value: number): number {
  let low = 0
  let high = gridSize - 1
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((worth[middle] ?? 0) < value) low = middle
    else high = middle
  }
  const from = worth[low] ?? 0
  const to = worth[high] ?? 0
  return low + (to > from ? Math.min(1, Math.max(0, (value - from) / (to - from))) : 0)
}

function interpolate(values: Float64Array, at: number): number {
  const low = Math.min(gridSize - 2, Math.floor(at))
  const share = at - low
  return (values[low] ?? 0) * (1 - share) + (values[low + 1] ?? 0) * share
}

/** The optimal schedule of these agents for a rate of explorations per millisecond. */
export class OptimalSchedule {
  readonly #population: Population
  readonly #ids: number[]
  readonly #kinds: Kind[]
  #price = 0

  constructor(population: Population, ids: number[], explorationsPerMs: number) {
    this.#population = population
    this.#ids = ids
    this.#kinds = listKinds(population)
    let low = 1
    let high = gapMax ** 2
    for (let round = 0; round < 40; round++) {
      this.#price = Math.sqrt(low * high)
      if (this.#countExplorations() > explorationsPerMs) low = this.#price
      else high = this.#price
    }
  }

  /** Returns this agent's optimal gap while it doesn't fail, in milliseconds. */
  gapOf(id: number): number {
    return Math.max(gapAt(this.#choose(id)), this.#population.intervalMs[id] ?? 0)
  }

  /** Returns the sum of weight times mean age over the agents, in milliseconds. */
  weightedAge(): number {
    let sum = 0
    for (const id of this.#ids) {
      const kind = this.#kinds[id]
      if (!kind) continue
      const at = this.#choose(id)
      const age = interpolate(kind.square, at) / (2 * interpolate(kind.mean, at))
      sum += (this.#population.weight[id] ?? 1) * age
    }
    return sum
  }

  #countExplorations(): number {
    let sum = 0
    for (const id of this.#ids) {
      const kind = this.#kinds[id]
      if (kind) sum += 1 / interpolate(kind.mean, this.#choose(id))
    }
    return sum
  }

  #choose(id: number): number {
    const kind = this.#kinds[id]
    return kind ? findWorth(kind, this.#price / (this.#population.weight[id] ?? 1)) : 0
  }
}

function listKinds({ intervalMs, failChance }: Population): Kind[] {
  const kinds = new Map<string, Kind>()
  return Array.from(intervalMs, (interval, id) => {
    const chance = failChance[id] ?? 0
    const name = `${interval}:${chance}`
    const kind = kinds.get(name) ?? createKind(interval, chance)
    kinds.set(name, kind)
    return kind
  })
}
