import { expect, test } from 'vitest'
import { computeForecast, type ForecastBudget } from '../../../src/hub/budgets/forecast'

const DAY_MS = 86_400_000
const at = (text: string) => Date.parse(text)

const november: ForecastBudget = {
  limitMicrousd: 150,
  limitTokens: null,
  spentMicrousd: 0,
  spentTokens: 0,
  criticalShare: 1,
  isRefusing: false,
  startsAt: at('2026-11-01T00:00:00Z'),
  endsAt: at('2026-12-01T00:00:00Z'),
  firstDay: null,
}

test('B8: a budget runs out when limit less spent is used up at the rate of the period so far', () => {
  const now = at('2026-11-21T00:00:00Z')
  const forecast = computeForecast({ ...november, spentMicrousd: 120, spentTokens: 1_200 }, now)
  expect(forecast).toMatchObject({ state: 'runs_out', microusdPerDay: 6, tokensPerDay: 60 })
  expect(forecast).toMatchObject({ expectedMicrousd: 180, expectedTokens: 1_800 })
  expect(forecast.exhaustedAt).toBe(now + 5 * DAY_MS)
  expect(forecast.path).toEqual([
    { at: now, microusd: 120, tokens: 1_200 },
    { at: november.endsAt, microusd: 180, tokens: 1_800 },
  ])
})

test('B8: a budget that lasts has an expected amount for the end of a period of any length', () => {
  for (const [startsAt, now, endsAt, factor] of [
    ['2026-11-01T00:00:00Z', '2026-11-30T00:00:00Z', '2026-12-01T00:00:00Z', 30 / 29],
    ['2028-02-01T00:00:00Z', '2028-02-28T00:00:00Z', '2028-03-01T00:00:00Z', 29 / 27],
    ['2026-02-28T00:00:00Z', '2026-02-28T18:00:00Z', '2026-03-01T00:00:00Z', 24 / 18],
    // a week in Berlin: the clocks change within it, and it ends at 23:00 UTC
    ['2026-10-18T22:00:00Z', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', 169 / 144],
  ] as const) {
    const period = { startsAt: at(startsAt), endsAt: at(endsAt) }
    const budget = { ...november, ...period, limitMicrousd: 100_000, spentMicrousd: 14_400 }
    const forecast = computeForecast(budget, at(now))
    expect(forecast).toMatchObject({ state: 'lasts', exhaustedAt: null })
    expect(forecast.expectedMicrousd).toBe(Math.round(14_400 * factor))
  }
})

test('B8: the rate of a new hub counts from its first day with use, not from the first of the month', () => {
  const now = at('2026-11-21T12:00:00Z')
  const rateSince = (day: string) => {
    const firstDay = at(day) / DAY_MS
    return computeForecast({ ...november, spentMicrousd: 12, firstDay }, now).microusdPerDay
  }
  expect(rateSince('2026-11-20')).toBe(8)
  expect(rateSince('2026-11-21')).toBe(24)
  expect(rateSince('2026-10-31')).toBe(rateSince('2026-11-01'))
})

test('B8: without usage in the period there is no forecast', () => {
  const none = computeForecast(november, at('2026-11-19T12:00:00Z'))
  expect(none).toMatchObject({ state: 'unknown', exhaustedAt: null })
  expect(none).toMatchObject({ microusdPerDay: 0, tokensPerDay: 0, expectedMicrousd: 0 })
})

test('B8: the first moment of a period has no run rate', () => {
  const start = november.startsAt as number
  const forecast = computeForecast({ ...november, spentMicrousd: 8 }, start)
  expect(forecast).toMatchObject({ state: 'lasts', microusdPerDay: 0, expectedMicrousd: 8 })
})

test('B8: a budget at its limit is exhausted now, and so is a limit of zero', () => {
  const now = at('2026-11-19T12:00:00Z')
  const used = { ...november, spentMicrousd: 150 }
  expect(computeForecast(used, now)).toMatchObject({ state: 'exhausted', exhaustedAt: now })
  expect(computeForecast({ ...november, limitMicrousd: 0 }, now).state).toBe('exhausted')
})

test('B3 B8: non-critical tasks cannot use the part reserved by the critical share', () => {
  const now = at('2026-11-16T00:00:00Z')
  const kept = { ...november, criticalShare: 0.5 }
  expect(computeForecast({ ...kept, spentMicrousd: 60 }, now).exhaustedAt).toBe(now + 3.75 * DAY_MS)
  expect(computeForecast({ ...kept, spentMicrousd: 75 }, now).state).toBe('exhausted')
  const tokens = { ...kept, limitMicrousd: null, limitTokens: 1_001 }
  expect(computeForecast({ ...tokens, spentTokens: 450 }, now).exhaustedAt).toBe(
    now + (50 / 30) * DAY_MS,
  )
  expect(computeForecast({ ...tokens, spentTokens: 500 }, now).state).toBe('exhausted')
})

test('B8: of two limits the one reached first counts, and without a limit the budget is unlimited', () => {
  const now = at('2026-11-16T00:00:00Z')
  const both = { ...november, limitTokens: 200, spentMicrousd: 75, spentTokens: 150 }
  expect(computeForecast(both, now).exhaustedAt).toBe(now + 5 * DAY_MS)
  const free = { ...november, limitMicrousd: null, spentMicrousd: 75 }
  expect(computeForecast(free, now)).toMatchObject({ state: 'unlimited', expectedMicrousd: 150 })
})

test('B8: a budget without a current window has no projection', () => {
  const closed = { ...november, startsAt: null, endsAt: null }
  const forecast = computeForecast(closed, at('2026-11-19T00:00:00Z'))
  expect(forecast.path).toHaveLength(1)
  expect(forecast).toMatchObject({ state: 'unknown', expectedMicrousd: 0, exhaustedAt: null })
})
