import { expect, test } from 'vitest'
import { computeNextSweep, isArmingExpired } from '../../../src/agents/scheduler/scheduler-shell'
import { scheduling } from '../../../src/shared/config'

const { sweepIntervalMs, sweepSlowMs, sweepArmedMs } = scheduling

test('S6: without an unconfirmed wake-up the sweep is slow', () => {
  expect(computeNextSweep({ lastSweepAt: 1_000, oldestArmedAt: null }, 2_000)).toBe(
    1_000 + sweepSlowMs,
  )
})

test('S6: an unconfirmed wake-up is swept within seconds', () => {
  expect(computeNextSweep({ lastSweepAt: 0, oldestArmedAt: 50_000 }, 50_000)).toBe(
    50_000 + sweepIntervalMs,
  )
})

test('S6: while a wake-up is unconfirmed the sweep keeps the short interval', () => {
  expect(computeNextSweep({ lastSweepAt: 60_000, oldestArmedAt: 50_000 }, 60_000)).toBe(
    60_000 + sweepIntervalMs,
  )
})

test('S6: a sweep is never planned for the past', () => {
  expect(computeNextSweep({ lastSweepAt: 0, oldestArmedAt: 0 }, 999_999_999)).toBe(999_999_999)
})

test('S6: times that were stored before the clock went back delay no sweep', () => {
  const later = 50_000 + 3_600_000
  expect(computeNextSweep({ lastSweepAt: later, oldestArmedAt: null }, 50_000)).toBe(50_000)
  expect(computeNextSweep({ lastSweepAt: 40_000, oldestArmedAt: later }, 50_000)).toBe(
    Math.max(50_000, 40_000 + sweepIntervalMs),
  )
})

test('S6: after a minute the slow interval applies', () => {
  expect(isArmingExpired(0, sweepArmedMs)).toBe(false)
  expect(isArmingExpired(0, sweepArmedMs + 1)).toBe(true)
})
