import { budgetForecast } from '../../shared/config'

const DAY_MS = 86_400_000

/** Usage of one day (UTC). */
export interface DailyUsage {
  /** Days since the Unix epoch. */
  day: number
  microusd: number
  tokens: number
}

/** A budget in its current window. */
export interface ForecastBudget {
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  /** Share of a limit beyond which only tasks of critical priority can spend. */
  criticalShare: number
  /** Null: no window is open. */
  endsAt: number | null
}

export interface Forecast {
  /** `unknown`: no recent usage. `unlimited`: no limit is set. */
  state: 'unknown' | 'unlimited' | 'lasts' | 'runs_out' | 'exhausted'
  /** Number of days that the rate is the mean of; 0 when the rate is unknown. */
  basisDays: number
  /** Whether the rate varies by weekday, as in the last weeks. */
  isShaped: boolean
  microusdPerDay: number
  tokensPerDay: number
  /** By the end of the window, ignoring limits. */
  expectedMicrousd: number
  expectedTokens: number
  /** When non-critical tasks have used their part of a limit; null when not within this window. */
  exhaustedAt: number | null
  /** Points from now to the end of the window, one each midnight (UTC). */
  path: { at: number; microusd: number; tokens: number }[]
}

/** Returns the weekday, 0 being Sunday: the first day of the epoch was a Thursday. */
const toWeekday = (day: number): number => (day + 4) % 7

interface Rate {
  basisDays: number
  microusd: number
  tokens: number
}

/** Returns the mean of the last whole days, or today's usage so far for a budget first used today. */
function computeRate(days: DailyUsage[], today: number): Rate {
  const first = Math.min(...days.map(({ day }) => day))
  const from = Math.max(today - budgetForecast.rateDays, first)
  const isNew = from >= today
  const counted = days.filter(({ day }) => (isNew ? day === today : day >= from && day < today))
  const basisDays = isNew ? 1 : today - from
  const mean = (pick: (day: DailyUsage) => number) =>
    counted.reduce((sum, day) => sum + pick(day), 0) / basisDays
  return { basisDays, microusd: mean((day) => day.microusd), tokens: mean((day) => day.tokens) }
}

/** Returns usage by weekday relative to the mean day; null without enough whole weeks. */
function computeWeekdayShape(days: DailyUsage[], today: number): number[] | null {
  const first = Math.min(...days.map(({ day }) => day))
  const weeks = Math.min(budgetForecast.shapeWeeksMax, Math.floor((today - first) / 7))
  if (weeks < budgetForecast.shapeWeeksMin) return null
  const shape = Array.from({ length: 7 }, () => 0)
  const counted = days.filter(({ day }) => day >= today - weeks * 7 && day < today)
  // Weekdays are compared by cost, or by tokens when nothing has a price.
  const isPriced = counted.some(({ microusd }) => microusd > 0)
  let total = 0
  for (const { day, microusd, tokens } of counted) {
    const use = isPriced ? microusd : tokens
    shape[toWeekday(day)] = (shape[toWeekday(day)] ?? 0) + use
    total += use
  }
  return total === 0 ? null : shape.map((use) => (use * 7) / total)
}

/** Returns when usage reaches a limit in a span that starts with `used` and adds `more`, or null. */
function findCrossing(
  used: number,
  more: number,
  limit: number | null,
  span: { at: number; ms: number },
): number | null {
  if (limit === null || used + more < limit || more <= 0) return null
  return Math.round(span.at + (Math.max(0, limit - used) / more) * span.ms)
}

/** Returns the part of a limit that non-critical tasks can use, computed as admission does. */
const toUsableLimit = (limit: number | null, { criticalShare }: ForecastBudget): number | null =>
  limit === null ? null : Math.floor(limit * criticalShare)

const isExhausted = (budget: ForecastBudget): boolean =>
  budget.spentMicrousd >=
    (toUsableLimit(budget.limitMicrousd, budget) ?? Number.POSITIVE_INFINITY) ||
  budget.spentTokens >= (toUsableLimit(budget.limitTokens, budget) ?? Number.POSITIVE_INFINITY)

/** Projects usage from now to the end of the window, midnight by midnight. */
function projectUsage(budget: ForecastBudget, rate: Rate, shape: number[] | null, now: number) {
  const path = [{ at: now, microusd: budget.spentMicrousd, tokens: budget.spentTokens }]
  let used = path[0] as (typeof path)[number]
  let exhaustedAt: number | null = null
  const endsAt = budget.endsAt ?? now
  while (used.at < endsAt) {
    const day = Math.floor(used.at / DAY_MS)
    const at = Math.min((day + 1) * DAY_MS, endsAt)
    const span = { at: used.at, ms: at - used.at }
    const share = (span.ms / DAY_MS) * (shape?.[toWeekday(day)] ?? 1)
    const microusd = rate.microusd * share
    const tokens = rate.tokens * share
    const crossings = [
      findCrossing(used.microusd, microusd, toUsableLimit(budget.limitMicrousd, budget), span),
      findCrossing(used.tokens, tokens, toUsableLimit(budget.limitTokens, budget), span),
    ].filter((crossing) => crossing !== null)
    if (exhaustedAt === null && crossings.length > 0) exhaustedAt = Math.min(...crossings)
    used = { at, microusd: used.microusd + microusd, tokens: used.tokens + tokens }
    path.push(used)
  }
  return { path, exhaustedAt }
}

/**
 * Returns the forecast of a budget from the mean of the last week, shaped by weekday when enough weeks
 * are known. The projection continues beyond the limit, although an exhausted budget stops spending.
 *
 * @param days usage of the last weeks; days without usage may be absent
 */
export function computeForecast(budget: ForecastBudget, days: DailyUsage[], now: number): Forecast {
  const today = Math.floor(now / DAY_MS)
  const used = days.filter(
    ({ day, microusd, tokens }) => day <= today && (microusd > 0 || tokens > 0),
  )
  const hasUsage = used.length > 0
  const rate = hasUsage ? computeRate(used, today) : { basisDays: 0, microusd: 0, tokens: 0 }
  const shape = hasUsage ? computeWeekdayShape(used, today) : null
  const { path, exhaustedAt } = projectUsage(budget, rate, shape, now)
  const end = path.at(-1)
  const common = {
    basisDays: rate.basisDays,
    isShaped: shape !== null,
    microusdPerDay: Math.round(rate.microusd),
    tokensPerDay: Math.round(rate.tokens),
    expectedMicrousd: Math.round(end?.microusd ?? 0),
    expectedTokens: Math.round(end?.tokens ?? 0),
    path,
  }
  if (isExhausted(budget)) return { ...common, state: 'exhausted', exhaustedAt: now }
  if (rate.microusd === 0 && rate.tokens === 0) {
    return { ...common, state: 'unknown', exhaustedAt: null }
  }
  if (budget.limitMicrousd === null && budget.limitTokens === null) {
    return { ...common, state: 'unlimited', exhaustedAt: null }
  }
  return { ...common, state: exhaustedAt === null ? 'lasts' : 'runs_out', exhaustedAt }
}
