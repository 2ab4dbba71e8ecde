import { expect, test } from 'vitest'
import {
  computeForecast,
  type DailyUsage,
  type ForecastBudget,
} from '../../../src/hub/budgets/forecast'

const DAY_MS = 86_400_000
const at = (text: string) => Date.parse(text)
const dayOf = (text: string) => Math.floor(at(text) / DAY_MS)

const november: ForecastBudget = {
  limitMicrousd: 150,
  limitTokens: null,
  spentMicrousd: 0,
  spentTokens: 0,
  criticalShare: 1,
  endsAt: at('2026-12-01T00:00:00Z'),
}

/** The same every day before `today`, for so many days. */
const steady = (today: string, count: number, microusd = 5, tokens = 50): DailyUsage[] =>
  Array.from({ length: count }, (_, index) => ({
    day: dayOf(today) - 1 - index,
    microusd,
    tokens,
  }))

test('B8: a steady budget runs out when limit less spent is used up at the rate', () => {
  const now = at('2026-11-19T12:00:00Z')
  const known = steady('2026-11-19', 7)
  const seen = computeForecast({ ...november, spentMicrousd: 100 }, known, now)
  expect(seen).toMatchObject({
    state: 'runs_out',
    basisDays: 7,
    microusdPerDay: 5,
    isShaped: false,
  })
  expect(seen.exhaustedAt).toBe(now + 10 * DAY_MS)
  expect(seen.expectedMicrousd).toBe(Math.round(100 + 11.5 * 5))
})

test('B8: a budget that lasts has an expected amount for the end of a month of any length', () => {
  for (const [now, endsAt, days] of [
    ['2026-11-30T00:00:00Z', '2026-12-01T00:00:00Z', 1],
    ['2028-02-28T00:00:00Z', '2028-03-01T00:00:00Z', 2],
    ['2026-02-28T18:00:00Z', '2026-03-01T00:00:00Z', 0.25],
    // a window in Berlin: the clocks change within it, and it ends at 23:00 UTC
    ['2026-10-24T22:00:00Z', '2026-10-31T23:00:00Z', 7 + 1 / 24],
  ] as const) {
    const budget = { ...november, limitMicrousd: 100_000, endsAt: at(endsAt) }
    const seen = computeForecast(budget, steady(now.slice(0, 10), 7, 2_400), at(now))
    expect(seen).toMatchObject({ state: 'lasts', exhaustedAt: null })
    expect(seen.expectedMicrousd).toBe(Math.round(2_400 * days))
  }
})

test('B8: without data, or with zero spending, there is no forecast', () => {
  const now = at('2026-11-19T12:00:00Z')
  const none = computeForecast(november, [], now)
  expect(none).toMatchObject({ state: 'unknown', basisDays: 0, exhaustedAt: null })
  expect(none).toMatchObject({ microusdPerDay: 0, expectedMicrousd: 0 })
  expect(computeForecast(november, steady('2026-11-19', 7, 0, 0), now).state).toBe('unknown')
  // used three weeks ago and never since: no rate
  const old = [{ day: dayOf('2026-10-28'), microusd: 70, tokens: 7 }]
  expect(computeForecast(november, old, now)).toMatchObject({ state: 'unknown', microusdPerDay: 0 })
})

test('B8: a budget at its limit is exhausted now, and so is a limit of zero', () => {
  const now = at('2026-11-19T12:00:00Z')
  const used = { ...november, spentMicrousd: 150 }
  expect(computeForecast(used, steady('2026-11-19', 7), now)).toMatchObject({
    ...{ state: 'exhausted', exhaustedAt: now },
  })
  expect(computeForecast({ ...november, limitMicrousd: 0 }, [], now).state).toBe('exhausted')
})

test('B3 B8: non-critical tasks cannot use the part reserved by the critical share', () => {
  const now = at('2026-11-19T00:00:00Z')
  const known = steady('2026-11-19', 7)
  const kept = { ...november, criticalShare: 0.5 }
  expect(computeForecast({ ...kept, spentMicrousd: 70 }, known, now).exhaustedAt).toBe(now + DAY_MS)
  expect(computeForecast({ ...kept, spentMicrousd: 75 }, known, now).state).toBe('exhausted')
  const tokens = { ...kept, limitMicrousd: null, limitTokens: 1_001 }
  expect(computeForecast({ ...tokens, spentTokens: 450 }, known, now).exhaustedAt).toBe(
    now + DAY_MS,
  )
  expect(computeForecast({ ...tokens, spentTokens: 500 }, known, now).state).toBe('exhausted')
})

test('B8: of two limits the one reached first counts, and without a limit the budget is unlimited', () => {
  const now = at('2026-11-19T00:00:00Z')
  const known = steady('2026-11-19', 7)
  const both = { ...november, limitTokens: 200 }
  expect(computeForecast(both, known, now).exhaustedAt).toBe(now + 4 * DAY_MS)
  const free = { ...november, limitMicrousd: null }
  expect(computeForecast(free, known, now)).toMatchObject({
    state: 'unlimited',
    expectedMicrousd: 60,
  })
})

test('B8: a new budget uses the days it has, and on its first day the usage so far', () => {
  const now = at('2026-11-19T12:00:00Z')
  const three = computeForecast(november, steady('2026-11-19', 3, 8), now)
  expect(three).toMatchObject({ basisDays: 3, microusdPerDay: 8 })
  const first = [{ day: dayOf('2026-11-19'), microusd: 8, tokens: 1 }]
  expect(computeForecast(november, first, now)).toMatchObject({ basisDays: 1, microusdPerDay: 8 })
})

test('B8: days of the week differ once two whole weeks are known', () => {
  // 70 on each Monday, nothing else; the 19th is a Thursday
  const mondays = (weeks: number): DailyUsage[] =>
    Array.from({ length: weeks }, (_, index) => ({
      day: dayOf('2026-11-16') - 7 * index,
      microusd: 70,
      tokens: 7,
    }))
  const now = at('2026-11-19T00:00:00Z')
  const seen = computeForecast({ ...november, spentMicrousd: 10 }, mondays(4), now)
  expect(seen).toMatchObject({ isShaped: true, microusdPerDay: 10, state: 'runs_out' })
  // Mondays 23rd and 30th are left: 10 + 70 + 70 reaches 150 at the end of the second
  expect(seen.exhaustedAt).toBe(at('2026-12-01T00:00:00Z'))
  expect(seen.expectedMicrousd).toBe(150)
  const flat = computeForecast(november, mondays(1), now)
  expect(flat).toMatchObject({ isShaped: false, basisDays: 3 })
})

test('B8: a budget without a current window has no projection', () => {
  const now = at('2026-11-19T00:00:00Z')
  const seen = computeForecast({ ...november, endsAt: null }, steady('2026-11-19', 7), now)
  expect(seen.path).toHaveLength(1)
  expect(seen).toMatchObject({ state: 'lasts', expectedMicrousd: 0 })
})
