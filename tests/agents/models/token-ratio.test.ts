import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  learnRatio,
  type TokenRatio,
  unknownRatio,
} from '../../../src/agents/models/estimate-tokens'

const learnAll = (counts: number[], estimated = 1_000): TokenRatio | null =>
  counts.reduce<TokenRatio | null>((ratio, count) => learnRatio(ratio, count, estimated), null)

test('T4: one higher count raises the bound at once, and lower counts lower it slowly', () => {
  const dense = learnRatio(null, 4_000, 1_000)
  expect(dense.high).toBeGreaterThanOrEqual(4)
  expect(learnRatio(dense, 1_000, 1_000).high).toBeGreaterThan(3.5)
  expect(learnAll([4_000, ...Array(60).fill(1_000)])?.high).toBeLessThan(1.2)
})

test('T4: whatever is counted, the bound is above the last count and the mean within the counts', () => {
  const counts = fc.array(fc.integer({ min: 700, max: 1_600 }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(counts, (list) => {
      const ratio = learnAll(list)
      const last = (list.at(-1) ?? 0) / 1_000
      expect(ratio?.high).toBeGreaterThanOrEqual(last)
      expect(ratio?.mean).toBeGreaterThanOrEqual(Math.min(...list) / 1_000 - 0.001)
      expect(ratio?.mean).toBeLessThanOrEqual(Math.max(...list) / 1_000 + 0.001)
    }),
  )
})

test('T4: a broken count cannot make every later call unaffordable', () => {
  for (const count of [Number.MAX_SAFE_INTEGER, 0]) {
    const ratio = learnRatio(null, count, 1)
    expect(ratio.high).toBeLessThan(10)
    expect(ratio.high).toBeGreaterThan(1)
    expect(ratio.mean).toBeGreaterThan(0)
  }
  expect(unknownRatio.high).toBeGreaterThanOrEqual(1.6)
})
