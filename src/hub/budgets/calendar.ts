import { findFirst, readOffsets } from '../../shared/local-time'

/**
 * A budget period in a time zone. Its windows are computed here, so that SQL only compares numbers
 * (see `budget_windows` in the migrations).
 */
export interface Period {
  period: 'day' | 'week' | 'month'
  /** Week: 1 (Monday) to 7. Month: 1 to 28. Day: ignored. */
  resetDay: number
  /** IANA name. */
  timezone: string
}

export interface Window {
  startsAt: number
  endsAt: number
}

const DAY_MS = 86_400_000

/** Returns midnight of the first day of the period that contains a local reading. */
function findFirstDay(reading: number, { period, resetDay }: Period): number {
  const today = Math.floor(reading / DAY_MS) * DAY_MS
  if (period === 'day') return today
  const date = new Date(today)
  if (period === 'week') {
    const weekday = date.getUTCDay() || 7
    return today - ((weekday - resetDay + 7) % 7) * DAY_MS
  }
  const month = date.getUTCDate() >= resetDay ? date.getUTCMonth() : date.getUTCMonth() - 1
  return Date.UTC(date.getUTCFullYear(), month, resetDay)
}

/** Returns midnight of the first day of the next period, as a local reading. */
function findNextFirstDay(day: number, period: Period['period']): number {
  if (period !== 'month') return day + (period === 'week' ? 7 : 1) * DAY_MS
  const date = new Date(day)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate())
}

/**
 * Lists the window that contains `from` and the following ones, until one ends after `until`. Where
 * clocks skip midnight, the day begins when they go on.
 */
export function listWindows(period: Period, from: number, until: number): Window[] {
  const offsetAt = readOffsets(period.timezone)
  const windows: Window[] = []
  let day = findFirstDay(from + offsetAt(from), period)
  let startsAt = findFirst(offsetAt, day)
  while (startsAt <= until) {
    day = findNextFirstDay(day, period.period)
    const endsAt = findFirst(offsetAt, day)
    // a day that a zone skipped (Samoa, 2011-12-30) has no window
    if (endsAt > startsAt) windows.push({ startsAt, endsAt })
    startsAt = endsAt
  }
  return windows
}

/** How far ahead windows are created; a start or a sweep creates the next ones long before. */
export const windowsAheadMs = 62 * DAY_MS

/** How far back windows are created, so that a clock that goes back or lags still finds one. */
export const windowsBehindMs = DAY_MS
