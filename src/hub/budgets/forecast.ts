import { findFirst, readOffsets } from '../../shared/local-time'
import { toUsableLimit } from '../rules/budget-levels'

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

/** A budget in its current window. */
export interface ForecastBudget {
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  /** Share of a limit beyond which only tasks of critical priority can spend. */
  criticalShare: number
  /** Something is left, but less than the last refused call of this window could take. */
  isRefusing: boolean
  /** Null: no window is open. */
  startsAt: number | null
  endsAt: number | null
  /** The first day on which the hub used a model, in days since the epoch; null before it. */
  firstDay: number | null
}

export interface Forecast {
  /**
   * `unknown`: no usage in this window. `unlimited`: no limit is set. `exhausted`: nothing is left, or
   * too little for a call that was refused.
   */
  state: 'unknown' | 'unlimited' | 'lasts' | 'runs_out' | 'exhausted'
  microusdPerDay: number
  tokensPerDay: number
  /** By the end of the window, ignoring limits. */
  expectedMicrousd: number
  expectedTokens: number
  /** When non-critical tasks have used their part of a limit; null when not within this window. */
  exhaustedAt: number | null
  /** Usage now and at the end of the window; only the former when no window is open. */
  path: { at: number; microusd: number; tokens: number }[]
}

/** Returns the part of a limit that non-critical tasks can use; infinite without a limit. */
const findUsable = (limit: number | null, budget: ForecastBudget): number =>
  limit === null ? Number.POSITIVE_INFINITY : toUsableLimit(limit, budget)

/**
 * Returns from when a run rate counts: the start of the window, or of the hub's first day with use if that is
 * later. Null: no window is open.
 */
export const findRateStart = ({
  startsAt,
  firstDay,
}: Pick<ForecastBudget, 'startsAt' | 'firstDay'>): number | null =>
  startsAt === null ? null : Math.max(startsAt, (firstDay ?? 0) * DAY_MS)

/**
 * Returns the forecast of a budget from its run rate: what is spent so far over the time since
 * `findRateStart`, projected to the end of the window. The projection continues beyond the limit, although
 * an exhausted budget stops spending.
 */
export function computeForecast(budget: ForecastBudget, now: number): Forecast {
  const { spentMicrousd, spentTokens, endsAt } = budget
  const elapsedMs = now - (findRateStart(budget) ?? now)
  const rate = (spent: number) => (elapsedMs > 0 ? spent / elapsedMs : 0)
  const microusdPerMs = rate(spentMicrousd)
  const tokensPerMs = rate(spentTokens)
  const project = (at: number) => ({
    at,
    microusd: spentMicrousd + microusdPerMs * (at - now),
    tokens: spentTokens + tokensPerMs * (at - now),
  })
  const end = project(Math.max(now, endsAt ?? now))
  const usableMicrousd = findUsable(budget.limitMicrousd, budget)
  const usableTokens = findUsable(budget.limitTokens, budget)
  const exhaustedAt =
    now +
    Math.min(
      findCrossing(usableMicrousd - spentMicrousd, microusdPerMs),
      findCrossing(usableTokens - spentTokens, tokensPerMs),
    )
  const state = findState()
  return {
    state,
    microusdPerDay: Math.round(microusdPerMs * DAY_MS),
    tokensPerDay: Math.round(tokensPerMs * DAY_MS),
    expectedMicrousd: Math.round(end.microusd),
    expectedTokens: Math.round(end.tokens),
    exhaustedAt:
      state === 'exhausted'
        ? Math.min(exhaustedAt, now)
        : state === 'runs_out'
          ? exhaustedAt
          : null,
    path: end.at > now ? [project(now), end] : [end],
  }

  function findState(): Forecast['state'] {
    if (exhaustedAt <= now || budget.isRefusing) return 'exhausted'
    if (spentMicrousd === 0 && spentTokens === 0) return 'unknown'
    if (budget.limitMicrousd === null && budget.limitTokens === null) return 'unlimited'
    return exhaustedAt <= end.at ? 'runs_out' : 'lasts'
  }
}

/** Returns in how many milliseconds the rest of a limit is used up; 0 when nothing is left. */
function findCrossing(rest: number, perMs: number): number {
  if (rest <= 0) return 0
  return perMs > 0 ? Math.round(rest / perMs) : Number.POSITIVE_INFINITY
}
