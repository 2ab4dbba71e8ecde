import { expect, test } from 'vitest'
import { ordinary, type Scenario } from '../../../bench/simulator/population'
import { simulate } from '../../../bench/simulator/simulate'

const small: Scenario = { ...ordinary, agents: 4_000, capacity: 4, days: 8 }

test('S12: with weights, failures, floods and lost capacity the result is close to the bound and no agent starves', () => {
  const report = simulate(small)
  expect(report.ratio).toBeGreaterThan(0.99)
  expect(report.ratio).toBeLessThan(1.02)
  expect(report.starved).toBe(0)
  expect(report.answers).toBeGreaterThan(10_000)
  expect(report.explorations).toBeGreaterThan(10_000)
})

test('S12: on the smallest hub, without failures, no result is below the bound', () => {
  const tiny = { ...small, days: 40, hasFailures: false }
  expect(simulate({ ...tiny, agents: 2 }).ratio).toBeGreaterThan(1)
  expect(simulate({ ...tiny, agents: 1 }).ratio).toBeGreaterThan(1)
})

test('S1 S3 S12: agents that are mentioned several times an hour explore as the others do', () => {
  const { starved, ratio } = simulate({ ...small, agents: 1_000, inboxLoad: 0.6 })
  expect(starved).toBe(0)
  expect(ratio).toBeLessThan(1.1)
})

test('S12: the bound detects a worse order', () => {
  const stalestFirst = simulate(small, 'hybrid', (_weight, slots) => slots)
  expect(stalestFirst.ratio).toBeGreaterThan(1.3)
  const strict = simulate(small, 'hybrid', (weight, slots) => weight * 1e9 + slots)
  expect(strict.ratio).toBeGreaterThan(2)
  expect(strict.starved).toBeGreaterThan(100)
})

test('S7: with equal weights the order is exactly stalest first', () => {
  const equal = { ...small, agents: 1_000, days: 3, isWeighted: false }
  expect(simulate(equal)).toEqual(simulate(equal, 'hybrid', (_weight, slots) => slots))
})

test('S3 S12: tasks first without a floor starves exploring agents', () => {
  const overload = { ...small, agents: 2_000, days: 4, inboxLoad: 1.2 }
  expect(simulate(overload).starved).toBe(0)
  expect(simulate(overload, 'notification').explorations).toBe(0)
})
