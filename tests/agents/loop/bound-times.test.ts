import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundTimes, computeNextAlarm } from '../../../src/agents/alarm'
import { initialState, type LoopState } from '../../../src/agents/loop/state'
import { takeSlots } from '../../../src/hub/inbox/wake'
import { activationLimits } from '../../../src/shared/config'
import type { AccountId } from '../../../src/shared/ids'

const at = 1_800_000_000_000
const year = 366 * 86_400_000

test('L34 S6: however far a clock was set, a sleep ends within the longest wait once the clock is right', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -year, max: year }),
      fc.integer({ min: 0, max: activationLimits.retryCapMs }),
      (jump, wait) => {
        const state: LoopState = {
          ...initialState,
          phase: 'reasoning',
          limits: { ...initialState.limits, durationMs: 300_000 },
          startedAt: at + jump,
          endsAt: at + jump + 300_000,
          pending: [{ id: 1, type: 'sleep', until: at + jump + wait }],
        }
        const bounded = boundTimes(state, at)
        const alarm = computeNextAlarm(bounded, at) ?? Number.POSITIVE_INFINITY
        expect(alarm).toBeLessThanOrEqual(at + activationLimits.retryCapMs)
        expect(bounded.endsAt).toBeLessThanOrEqual(at + 300_000)
        if (jump === 0) expect(bounded).toEqual(state)
      },
    ),
  )
})

test('S3: no more agents are woken than can get a slot, and those that run are always woken', () => {
  const agents = Array.from({ length: 10 }, (_, n) => ({
    accountId: String(n) as AccountId,
    isRunning: n === 9,
    takenSlots: 47,
  }))
  expect(takeSlots(agents, 50).map(({ accountId }) => accountId)).toEqual(['0', '1', '2', '9'])
  expect(takeSlots(agents, 40).map(({ accountId }) => accountId)).toEqual(['9'])
  expect(takeSlots([{ accountId: 'a' as AccountId }], 1)).toHaveLength(1)
})
