import { turns } from '../../../config'
import { computeWait } from '../eligibility'
import type { Population } from './population'

/**
 * The least weighted age that any order of turns could reach (Kadota et al., IEEE/ACM ToN 2018, with
 * waits that nobody may shorten). An agent whose gaps between turns are X has a mean age of
 * E[X^2] / 2E[X] and takes 1 / E[X] turns of those there are. Minimizing the weighted sum under a
 * price of a turn gives each agent one gap of its own choice, lengthened where its interval or its
 * back-off demands it; the price is the one at which as many turns are taken as there were.
 */

/** A wait that an agent has to keep with this chance before its next turn. */
interface Wait {
  ms: number
  chance: number
}

/**
 * Agents whose waits are alike, so that only the weight tells how they value a turn. By grid of
 * chosen gaps: what the last turn is worth to an agent of weight 1, and the moments of its gaps.
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
 * The waits of an agent that fails with this chance: after k failures in a row the wait of k. The
 * chance of k is that of k failures and then a success, and of the last one that of all above.
 */
function listWaits(intervalMs: number, failChance: number): Wait[] {
  const waits: Wait[] = []
  for (let failures = 0; failures <= turns.failuresMax; failures++) {
    const isLast = failures === turns.failuresMax
    const chance = failChance ** failures * (isLast ? 1 : 1 - failChance)
    if (chance === 0) continue
    for (let step = 0; step < jitterSteps; step++) {
      const ms = computeWait(intervalMs, failures, (step + 0.5) / jitterSteps)
      waits.push({ ms, chance: chance / jitterSteps })
    }
  }
  return waits
}

/** Mean of the gap and of its square when the agent chooses `gap`. */
function moments(waits: Wait[], gap: number): { mean: number; square: number } {
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

/** At the best gap x the last turn is worth its price: `w * (x * E[X] - E[X^2] / 2)`. */
function createKind(intervalMs: number, failChance: number): Kind {
  const waits = listWaits(intervalMs, failChance)
  const kind: Kind = {
    worth: new Float64Array(gridSize),
    mean: new Float64Array(gridSize),
    square: new Float64Array(gridSize),
  }
  for (let at = 0; at < gridSize; at++) {
    const gap = gapAt(at)
    const { mean, square } = moments(waits, gap)
    kind.mean[at] = mean
    kind.square[at] = square
    kind.worth[at] = gap * mean - square / 2
  }
  return kind
}

/** Where on the grid a turn is worth this much. */
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

/** What the best order would do with these agents, from a number of turns a millisecond. */
export class BestOrder {
  readonly #population: Population
  readonly #ids: number[]
  readonly #kinds: Kind[]
  #price = 0

  constructor(population: Population, ids: number[], turnsPerMs: number) {
    this.#population = population
    this.#ids = ids
    this.#kinds = listKinds(population)
    let low = 1
    let high = gapMax ** 2
    for (let round = 0; round < 40; round++) {
      this.#price = Math.sqrt(low * high)
      if (this.#countTurns() > turnsPerMs) low = this.#price
      else high = this.#price
    }
  }

  /** The gap that this agent would have when it does not fail. */
  gapOf(id: number): number {
    return Math.max(gapAt(this.#choose(id)), this.#population.intervalMs[id] ?? 0)
  }

  /** Sum over the agents of weight times mean age, in milliseconds. */
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

  #countTurns(): number {
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
  const known = new Map<string, Kind>()
  return Array.from(intervalMs, (interval, id) => {
    const chance = failChance[id] ?? 0
    const name = `${interval}:${chance}`
    const kind = known.get(name) ?? createKind(interval, chance)
    known.set(name, kind)
    return kind
  })
}
