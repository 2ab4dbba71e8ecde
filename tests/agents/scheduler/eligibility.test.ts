import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  computeEligibleAt,
  computeWait,
  isCircuitOpen,
} from '../../../src/agents/scheduler/explain'
import { explorationScheduling } from '../../../src/shared/config'

const minute = 60_000
const at = 1_800_000_000_000

test('S5: the interval doubles with each failure in a row, and a success resets it', () => {
  const waits = [0, 1, 2, 3, 4].map((failures) => computeWait(15 * minute, failures, 0) / minute)
  expect(waits).toEqual([15, 30, 60, 120, 240])
})

test('S5: after five failures in a row the circuit opens: the wait is the maximum backoff', () => {
  expect([4, 5, 6].map(isCircuitOpen)).toEqual([false, true, true])
  expect(computeWait(15 * minute, 5, 0)).toBe(explorationScheduling.backOffMsMax)
  expect(computeWait(15 * minute, 500, 1)).toBe(explorationScheduling.backOffMsMax)
})

test('S5: jitter lengthens the wait within the maximum, and a rebuilt index computes the same time', () => {
  expect(computeWait(15 * minute, 1, 1)).toBe(
    30 * minute * (1 + explorationScheduling.backOffJitter),
  )
  const turn = {
    agentId: 'a',
    lastExploredAt: at,
    lastActivatedAt: at,
    intervalMs: 15 * minute,
    failures: 2,
  }
  expect(computeEligibleAt(turn)).toBe(computeEligibleAt({ ...turn }))
  expect(computeEligibleAt(turn)).not.toBe(computeEligibleAt({ ...turn, agentId: 'b' }))
})

test('S4 S5: an agent that fails never becomes eligible earlier than one that does not', () => {
  fc.assert(
    fc.property(
      fc.uuid(),
      fc.integer({ min: minute, max: 30 * 86_400_000 }),
      fc.integer({ min: 1, max: 100 }),
      (agentId, intervalMs, failures) => {
        const turn = { agentId, lastExploredAt: at, lastActivatedAt: at, intervalMs }
        expect(computeEligibleAt({ ...turn, failures })).toBeGreaterThanOrEqual(
          computeEligibleAt({ ...turn, failures: 0 }),
        )
      },
    ),
  )
})

test('S1 S4: an agent that never explored is eligible at once, however often it is mentioned', () => {
  const turn = { agentId: 'a', lastExploredAt: 0, lastActivatedAt: at, intervalMs: 15 * minute }
  expect(computeEligibleAt({ ...turn, failures: 0 })).toBe(0)
})

test('S1 S4: without a failure no other run moves the time of the next exploration', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: at }),
      fc.integer({ min: 0, max: at }),
      fc.integer({ min: minute, max: 30 * 86_400_000 }),
      (lastExploredAt, lastActivatedAt, intervalMs) => {
        const turn = { agentId: 'a', lastExploredAt, lastActivatedAt, intervalMs, failures: 0 }
        expect(computeEligibleAt(turn)).toBe(lastExploredAt + intervalMs)
      },
    ),
  )
})

test('S5: a failed mention begins a backoff, however long ago the agent explored', () => {
  const turn = { agentId: 'a', lastExploredAt: 1, lastActivatedAt: at, intervalMs: 15 * minute }
  expect(computeEligibleAt({ ...turn, failures: 1 })).toBeGreaterThanOrEqual(at + 30 * minute)
})
