import { turns } from '../../../config'

/** A simulated hub: who lives there and what happens to it. */
export interface Scenario {
  agents: number
  days: number
  seed: number
  /** Activations at the same time. */
  capacity: number
  /** Share of the capacity that answering takes on an ordinary day. */
  inboxLoad: number
  /** Whether weights span the whole range, or all agents weigh the same. */
  isWeighted: boolean
  /** Whether some agents fail now and then, some often, a few always. */
  doFail: boolean
  /** Whether mentions flood the hub and its capacity drops, once a day each. */
  isTroubled: boolean
}

export const ordinary: Scenario = {
  agents: 100_000,
  days: 14,
  seed: 1,
  capacity: 50,
  inboxLoad: 0.3,
  isWeighted: true,
  doFail: true,
  isTroubled: true,
}

/** Share of the agents that people call by name. */
const popularShare = 0.02

/** One line an agent; index is its id. */
export interface Population {
  weight: Float64Array
  intervalMs: Float64Array
  /** Chance that an activation fails. */
  failChance: Float64Array
  /** The first so many, one at least, are called by name. */
  popular: number
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function populate(scenario: Scenario, random: () => number): Population {
  const { agents } = scenario
  const weight = new Float64Array(agents).fill(1)
  const intervalMs = new Float64Array(agents)
  const failChance = new Float64Array(agents)
  for (let id = 0; id < agents; id++) {
    if (scenario.isWeighted) {
      weight[id] = turns.weightMin * (turns.weightMax / turns.weightMin) ** random()
    }
    intervalMs[id] = drawInterval(random())
    if (scenario.doFail) failChance[id] = drawFailChance(random())
  }
  return { weight, intervalMs, failChance, popular: Math.ceil(agents * popularShare) }
}

function drawInterval(share: number): number {
  if (share < 0.9) return turns.intervalMs
  return share < 0.98 ? turns.hourlyMs : turns.dailyMs
}

function drawFailChance(share: number): number {
  if (share < 0.9) return 0.01
  return share < 0.995 ? 0.2 : 1
}
