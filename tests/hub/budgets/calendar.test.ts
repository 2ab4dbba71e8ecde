import fc from 'fast-check'
import { expect, test } from 'vitest'
import { listWindows, type Period } from '../../../src/hub/budgets/forecast'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const timezones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Pacific/Auckland',
  // clocks that change at midnight
  'America/Havana',
  'Asia/Beirut',
  'Africa/Cairo',
  'America/Asuncion',
  'Asia/Amman',
  // offsets of half and quarter hours, and a change of half an hour
  'America/St_Johns',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
]
const period = fc.record({
  period: fc.constantFrom('day' as const, 'week' as const, 'month' as const),
  resetDay: fc.integer({ min: 1, max: 7 }),
  timezone: fc.constantFrom(...timezones),
})
const moment = fc.integer({ min: Date.UTC(2015, 0, 1), max: Date.UTC(2040, 0, 1) })

/** Year, month, day, hour and minute on the wall clock. */
function readWallClock(at: number, timezone: string) {
  const text = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'short',
  }).format(at)
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = text.split(/\D+/).map(Number)
  const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay() || 7
  return { date: text.slice(0, 10), day, hour, minute, weekday }
}

const holds = (at: number, { startsAt, endsAt }: { startsAt: number; endsAt: number }) =>
  startsAt <= at && at < endsAt

test('B2: windows are contiguous and not empty, one contains now, and they reach as far as requested', () => {
  fc.assert(
    fc.property(period, moment, fc.integer({ min: 0, max: 100 }), (each, now, days) => {
      const until = now + days * DAY_MS
      const windows = listWindows(each, now, until)
      expect(windows.filter((window) => holds(now, window))).toHaveLength(1)
      expect(windows.some((window) => holds(until, window))).toBe(true)
      for (const [index, { startsAt, endsAt }] of windows.entries()) {
        expect(endsAt).toBeGreaterThan(startsAt)
        if (index > 0) expect(startsAt).toBe(windows[index - 1]?.endsAt)
      }
    }),
    { numRuns: 300 },
  )
})

test('B2: windows computed later, from the end of the first ones, are the same', () => {
  fc.assert(
    fc.property(period, moment, fc.integer({ min: 1, max: 60 }), (each, now, days) => {
      const all = listWindows(each, now, now + 130 * DAY_MS)
      const first = listWindows(each, now, now + days * DAY_MS)
      const rest = listWindows(each, first.at(-1)?.endsAt ?? 0, now + 130 * DAY_MS)
      expect([...first, ...rest]).toEqual(all)
    }),
    { numRuns: 200 },
  )
})

test('B2: a window starts with its day: at midnight, or right after it when the clock skips midnight', () => {
  fc.assert(
    fc.property(period, moment, (each, now) => {
      for (const { startsAt } of listWindows(each, now, now + 40 * DAY_MS)) {
        const before = readWallClock(startsAt - 1, each.timezone)
        const start = readWallClock(startsAt, each.timezone)
        expect(before.date < start.date).toBe(true)
        if (start.hour === 0) expect(start.minute).toBe(0)
        if (each.period === 'week') expect(start.weekday).toBe(each.resetDay)
        if (each.period === 'month') expect(start.day).toBe(each.resetDay)
      }
    }),
    { numRuns: 200 },
  )
})

const day = (timezone: string): Period => ({ period: 'day', resetDay: 1, timezone })
const hoursOf = (timezone: string, at: number) =>
  listWindows(day(timezone), at, at).map(({ startsAt, endsAt }) => (endsAt - startsAt) / HOUR_MS)

test.each([
  ['Europe/Berlin', '2026-03-29T12:00Z', 23],
  ['Europe/Berlin', '2026-10-25T12:00Z', 25],
  ['Europe/Berlin', '2026-06-01T12:00Z', 24],
  ['America/New_York', '2026-03-08T18:00Z', 23],
  ['America/New_York', '2026-11-01T18:00Z', 25],
  ['America/Havana', '2026-03-08T18:00Z', 23],
  ['America/Havana', '2026-11-01T18:00Z', 25],
  // midnight is shown twice, and the day begins with the first
  ['Asia/Amman', '2016-10-28T12:00Z', 25],
  ['Australia/Lord_Howe', '2026-10-04T01:00Z', 23.5],
])('B2: in %s the day of %s has %i hours', (timezone, at, hours) => {
  expect(hoursOf(timezone, Date.parse(at))).toEqual([hours])
})

test.each([
  ['2026-02-14T00:00Z', 1, '2026-02-01', '2026-03-01'],
  ['2028-02-14T00:00Z', 1, '2028-02-01', '2028-03-01'],
  ['2026-01-05T00:00Z', 28, '2025-12-28', '2026-01-28'],
  ['2026-12-28T00:00Z', 28, '2026-12-28', '2027-01-28'],
  ['2026-03-01T00:00Z', 28, '2026-02-28', '2026-03-28'],
])('B2: the month that contains %s with reset day %i', (at, resetDay, from, to) => {
  const windows = listWindows(
    { period: 'month', resetDay, timezone: 'UTC' },
    Date.parse(at),
    Date.parse(at),
  )
  expect(windows).toEqual([{ startsAt: Date.parse(from), endsAt: Date.parse(to) }])
})

test.each([
  [1, '2026-11-16'],
  [6, '2026-11-21'],
  [7, '2026-11-15'],
])('B2: a week that starts on day %i contains the Saturday 2026-11-21', (resetDay, from) => {
  const now = Date.parse('2026-11-21T10:00Z')
  const [window] = listWindows({ period: 'week', resetDay, timezone: 'UTC' }, now, now)
  expect(window).toEqual({
    startsAt: Date.parse(from),
    endsAt: Date.parse(from) + 7 * DAY_MS,
  })
})

test('B2: a day that a time zone skipped has no window', () => {
  const at = Date.parse('2011-12-29T12:00Z')
  const windows = listWindows(day('Pacific/Apia'), at, at + 3 * DAY_MS)
  const dates = windows.map(({ startsAt }) => readWallClock(startsAt, 'Pacific/Apia').date)
  expect(dates).not.toContain('2011-12-30')
  expect(new Set(dates).size).toBe(dates.length)
})
