import fc from 'fast-check'
import { expect, test } from 'vitest'
import type {
  ExplorationReason,
  ExplorerState,
  HubFacts,
} from '../../../src/agents/contract/agents'
import {
  computeEligibleAt,
  explainExploration,
  explainTask,
} from '../../../src/agents/scheduler/explain'
import type { AccountId } from '../../../src/shared/ids'

const minute = 60_000
const now = Date.UTC(2026, 10, 21, 10)

const agent: ExplorerState = {
  agentId: 'scout' as AccountId,
  isRunning: false,
  isPaused: false,
  isStopped: false,
  awaitsProvider: false,
  intervalMs: 15 * minute,
  weight: 1,
  failures: 0,
  lastExploredAt: now - 60 * minute,
  lastActivatedAt: now - 60 * minute,
  isThrottled: false,
  isCapped: false,
  tasksWaiting: 0,
}
const hub: HubFacts = {
  isPaused: false,
  running: 0,
  runningExploration: 0,
  isInboxWaiting: false,
  isExplorationWaiting: false,
}
const room = { mode: 'hybrid', capacity: 10, stored: null, now } as const
const explain = (of: Partial<ExplorerState>, at: Partial<HubFacts> = {}, more: object = {}) =>
  explainExploration({ ...agent, ...of }, { ...hub, ...at }, { ...room, ...more })

test.each<[ExplorationReason, Partial<ExplorerState>, Partial<HubFacts>, object]>([
  ['next', {}, {}, {}],
  ['next', { lastExploredAt: 0 }, {}, {}],
  ['running', { isRunning: true, isPaused: true }, {}, {}],
  ['hub_paused', { isPaused: true }, { isPaused: true }, {}],
  ['paused', { isPaused: true }, {}, {}],
  ['stopped', { isStopped: true }, {}, {}],
  ['provider_down', { awaitsProvider: true }, {}, {}],
  ['not_enabled', { intervalMs: null }, {}, {}],
  ['not_enabled', { weight: 0 }, {}, {}],
  ['mode', {}, {}, { mode: 'notification' }],
  ['budget', { isThrottled: true }, {}, {}],
  ['daily_cap', { isCapped: true }, {}, {}],
  ['interval', { lastExploredAt: now - minute }, {}, {}],
  ['next', { lastActivatedAt: now - minute }, {}, {}],
  ['back_off', { lastActivatedAt: now - minute, failures: 2 }, {}, {}],
  ['circuit_open', { lastActivatedAt: now - minute, failures: 5 }, {}, {}],
  ['task_first', { tasksWaiting: 1 }, { isInboxWaiting: true }, {}],
  ['no_slot', {}, { running: 10 }, {}],
  ['no_slot', {}, { running: 4, runningExploration: 2, isInboxWaiting: true }, {}],
  [
    'nothing_new',
    {},
    {},
    { stored: { failures: 0, lastExploredAt: now, eligibleAt: 0, isSatisfied: true } },
  ],
])('S11: the reason is %s for %j on a hub with %j', (reason, of, at, more) => {
  expect(explain(of, at, more).reason).toBe(reason)
})

test('S11: a wait has its end: an interval, a backoff, midnight for the daily limit', () => {
  const lastExploredAt = now - 5 * minute
  expect(explain({ lastExploredAt })).toMatchObject({ until: now + 10 * minute })
  const hasFailed = { lastExploredAt, lastActivatedAt: lastExploredAt, failures: 2 }
  const failed = explain(hasFailed)
  expect(failed.until).toBe(computeEligibleAt({ ...agent, ...hasFailed, intervalMs: 15 * minute }))
  expect(explain({ isCapped: true, lastExploredAt })).toMatchObject({
    reason: 'daily_cap',
    until: Date.UTC(2026, 10, 22),
  })
  const daily = explain({ isCapped: true, lastExploredAt, intervalMs: 24 * 60 * minute })
  expect(daily).toMatchObject({ reason: 'interval', until: lastExploredAt + 24 * 60 * minute })
})

test('S11: the scheduler state counts when it is newer than the hub state, and not when it is older', () => {
  const refused = {
    failures: 0,
    lastExploredAt: agent.lastExploredAt,
    eligibleAt: now + 30_000,
    isSatisfied: false,
  }
  expect(explain({}, {}, { stored: refused })).toMatchObject({
    reason: 'interval',
    until: now + 30_000,
    eligibleAt: now + 30_000,
  })
  const stale = { failures: 0, lastExploredAt: 1, eligibleAt: now + 30_000, isSatisfied: false }
  expect(explain({}, {}, { stored: stale }).reason).toBe('next')
  const unaware = { ...refused, eligibleAt: 0 }
  const hasFailed = { lastActivatedAt: now - minute, failures: 1 }
  expect(explain(hasFailed, {}, { stored: unaware }).reason).toBe('back_off')
})

test('S11: free capacity follows the same rule as starting explorations', () => {
  fc.assert(
    fc.property(
      fc.record({
        intervalMs: fc.integer({ min: 60_000, max: 86_400_000 }),
        failures: fc.nat(8),
        lastExploredAt: fc.oneof(fc.constant(0), fc.integer({ min: now - 172_800_000, max: now })),
        lastActivatedAt: fc.oneof(fc.constant(0), fc.integer({ min: now - 172_800_000, max: now })),
      }),
      (turn) => {
        const { reason } = explain(turn)
        const isFree = computeEligibleAt({ ...agent, ...turn }) <= now
        expect(reason === 'next').toBe(isFree)
      },
    ),
  )
})

test('S11: a task waits for its agent, for a pause to end, or for a slot; else it starts', () => {
  const why = (of: object, at: Partial<HubFacts> = {}) =>
    explainTask({ ...agent, ...of }, { ...hub, ...at }, room)
  expect(why({ isRunning: true })).toBe('at_work')
  expect(why({}, { isPaused: true })).toBe('hub_paused')
  expect(why({ isPaused: true })).toBe('paused')
  expect(why({ isStopped: true })).toBe('stopped')
  expect(why({ awaitsProvider: true })).toBe('provider_down')
  expect(why({}, { running: 10 })).toBe('no_slot')
  expect(why({}, { running: 8, isExplorationWaiting: true })).toBe('no_slot')
  expect(why({}, { running: 8 })).toBe('starting')
})
