import { explorationScheduling } from '../../src/shared/config'

/** Parameters of a simulated hub. */
export interface Scenario {
  agents: number
  days: number
  seed: number
  /** Maximum number of concurrent activations. */
  capacity: number
  /** Share of the capacity that tasks take on an ordinary day. */
  inboxLoad: number
  /** Whether weights span the whole range; otherwise all are equal. */
  isWeighted: boolean
  /** Whether activations fail: of most agents rarely, of some often, of a few always. */
  hasFailures: boolean
  /** Whether there is a daily surge, flood and drop in capacity (see mentions.ts). */
  hasDisruptions: boolean
}

/** The default scenario. */
export const ordinary: Scenario = {
  agents: 100_000,
  days: 14,
  seed: 1,
  capacity: 50,
  inboxLoad: 0.3,
  isWeighted: true,
  hasFailures: true,
  hasDisruptions: true,
}

/** Share of the agents that people mention. */
const popularShare = 0.02

/** Agents of a simulation; the array index is the agent's id. */
export interface Population {
  weight: Float64Array
  intervalMs: Float64Array
  /** Probability that an activation fails. */
  failChance: Float64Array
  /** Number of agents that are mentioned, at least one: those with the lowest ids. */
  mentionedCount: number
}

/** Returns a generator of numbers from 0 to 1, deterministic for a seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Creates the agents of a scenario. */
export function populate(scenario: Scenario, random: () => number): Population {
  const { agents } = scenario
  const weight = new Float64Array(agents).fill(1)
  const intervalMs = new Float64Array(agents)
  const failChance = new Float64Array(agents)
  for (let id = 0; id < agents; id++) {
    if (scenario.isWeighted) {
      weight[id] =
        explorationScheduling.weightMin *
        (explorationScheduling.weightMax / explorationScheduling.weightMin) ** random()
    }
    intervalMs[id] = drawInterval(random())
    if (scenario.hasFailures) failChance[id] = drawFailChance(random())
  }
  return { weight, intervalMs, failChance, mentionedCount: Math.ceil(agents * popularShare) }
}

function drawInterval(share: number): number {
  if (share < 0.9) return explorationScheduling.intervalMs
  return share < 0.98 ? explorationScheduling.hourlyMs : explorationScheduling.dailyMs
}

function drawFailChance(share: number): number {
  if (share < 0.9) return 0.01
  return share < 0.995 ? 0.2 : 1
}
