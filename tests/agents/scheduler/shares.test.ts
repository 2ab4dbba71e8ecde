import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  canStart,
  explorationFloor,
  type SchedulingMode,
} from '../../../src/agents/scheduler/explain'

const modes: SchedulingMode[] = ['notification', 'exploration', 'hybrid']

/** Fills an empty hub in the order of the classes until nothing more can start. */
function fill(
  mode: SchedulingMode,
  capacity: number,
  waits: { inbox: number; exploration: number },
) {
  const running = { inbox: 0, exploration: 0 }
  const mayGoOn = (what: 'inbox' | 'exploration') =>
    waits[what] > running[what] &&
    canStart(what, mode, {
      capacity,
      runningInbox: running.inbox,
      runningExploration: running.exploration,
      isInboxWaiting: waits.inbox > running.inbox,
      isExplorationWaiting: waits.exploration > running.exploration,
    })
  for (let round = 0; round < 2 * capacity + 2; round++) {
    if (mayGoOn('inbox')) running.inbox++
    else if (mayGoOn('exploration')) running.exploration++
  }
  return running
}

test('S3: under load exploration has its floor and tasks have the rest, in every mode', () => {
  expect(fill('hybrid', 50, { inbox: 1e6, exploration: 1e6 })).toEqual({
    inbox: 40,
    exploration: 10,
  })
  expect(fill('exploration', 50, { inbox: 1e6, exploration: 1e6 })).toEqual({
    inbox: 10,
    exploration: 40,
  })
  expect(fill('notification', 50, { inbox: 1e6, exploration: 1e6 })).toEqual({
    inbox: 50,
    exploration: 0,
  })
})

test('S3: a class uses the capacity of the other while that has none waiting, and the total is never exceeded', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...modes),
      fc.integer({ min: 1, max: 100 }),
      fc.nat(200),
      fc.nat(200),
      (mode, capacity, inbox, exploration) => {
        const running = fill(mode, capacity, { inbox, exploration })
        const explorers = mode === 'notification' ? 0 : exploration
        expect(running.inbox + running.exploration).toBe(Math.min(capacity, inbox + explorers))
      },
    ),
  )
})

test('S3: with two or more slots neither class can starve the other', () => {
  for (const mode of ['hybrid', 'exploration'] as const) {
    for (const capacity of [2, 3, 4, 5, 50, 1000]) {
      const floor = explorationFloor(mode, capacity)
      expect(floor).toBeGreaterThan(0)
      expect(floor).toBeLessThan(capacity)
    }
  }
  expect(explorationFloor('hybrid', 1)).toBe(0)
})
