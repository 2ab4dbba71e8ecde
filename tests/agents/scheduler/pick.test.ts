import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Explorers } from '../../../bench/simulator/explorers'
import {
  computeIndex,
  pick,
  type TierHead,
  tierOf,
  tierWeight,
} from '../../../src/agents/scheduler/explorer-index'
import { explorationScheduling } from '../../../src/shared/config'

const now = 2_000_000_000_000

const agent = fc.record({
  tier: fc.nat(explorationScheduling.weightTiers - 1),
  age: fc.nat(100 * 86_400_000),
})

test('S7: comparing the heads of the tiers compares all agents', () => {
  fc.assert(
    fc.property(fc.array(agent, { minLength: 1, maxLength: 200 }), (drawn) => {
      const agents = drawn.map(({ tier, age }, id) => ({ id, tier, lastExploredAt: now - age }))
      const indexOf = ({ tier, lastExploredAt }: TierHead<number>) =>
        computeIndex(tierWeight(tier), (now - lastExploredAt) / explorationScheduling.slotMs)
      const chosen = pick(headsOf(agents), now)
      expect(chosen).not.toBeNull()
      expect(indexOf(chosen as TierHead<number>)).toBe(Math.max(...agents.map(indexOf)))
    }),
  )
})

test('S7: among equal weights the order is stalest first, exactly', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 100 }),
      fc.double({ min: 0.01, max: 100, noNaN: true }),
      (hours, weight) => {
        const lastExploredAt = Float64Array.from(hours, (each) => now - each * 3_600_000)
        const all = (value: number) => new Float64Array(hours.length).fill(value)
        const population = {
          weight: all(weight),
          intervalMs: all(explorationScheduling.intervalMs),
          failChance: all(0),
          mentionedCount: 0,
        }
        const explorers = new Explorers(population, lastExploredAt)
        explorers.promote(now)
        const order = hours.map(() => {
          const id = explorers.pick(now)
          explorers.start(id)
          return id
        })
        const stalestFirst = hours
          .map((each, id) => ({ each, id }))
          .sort((one, other) => other.each - one.each || one.id - other.id)
        expect(order).toEqual(stalestFirst.map(({ id }) => id))
      },
    ),
  )
})

test('S1: an agent that never ran precedes all that did, the heaviest first', () => {
  const heads: TierHead<string>[] = [
    { id: 'stale and important', tier: 14, lastExploredAt: now - 400 * 86_400_000 },
    { id: 'new', tier: 0, lastExploredAt: 0 },
    { id: 'new and important', tier: 9, lastExploredAt: 0 },
  ]
  expect(pick(heads, now)?.id).toBe('new and important')
  expect(pick(heads.slice(0, 2), now)?.id).toBe('new')
  expect(pick([], now)).toBeNull()
})

test('S7: weights of two orders of magnitude map to logarithmically spaced tiers', () => {
  expect(tierOf(explorationScheduling.weightMin)).toBe(0)
  expect(tierOf(explorationScheduling.weightMax)).toBe(explorationScheduling.weightTiers - 1)
  expect([tierOf(0), tierOf(1e9)]).toEqual([0, explorationScheduling.weightTiers - 1])
  expect(tierWeight(tierOf(1))).toBeCloseTo(1, 12)
  for (let tier = 0; tier < explorationScheduling.weightTiers; tier++) {
    expect(tierOf(tierWeight(tier))).toBe(tier)
    if (tier > 0) expect(tierWeight(tier) / tierWeight(tier - 1)).toBeCloseTo(1.3895, 3)
  }
})

function headsOf(agents: TierHead<number>[]): TierHead<number>[] {
  const heads = new Map<number, TierHead<number>>()
  for (const each of agents) {
    const head = heads.get(each.tier)
    if (!head || each.lastExploredAt < head.lastExploredAt) heads.set(each.tier, each)
  }
  return [...heads.values()]
}
