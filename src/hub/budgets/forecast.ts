import { budgetForecast } from '../../config'

const DAY_MS = 86_400_000

/** What was used on one day (UTC). */
export interface DayUse {
  /** Days since the Unix epoch. */
  day: number
  microusd: number
  tokens: number
}

/** A budget in the window that holds now. */
export interface ForecastBudget {
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  /** What is beyond this share of a limit, usual tasks may not use (B3). */
  criticalShare: number
  /** Null: no window is open. */
  endsAt: number | null
}

export interface Forecast {
  /** `unknown`: nothing was used lately. `unlimited`: there is nothing to run out of. */
  state: 'unknown' | 'unlimited' | 'lasts' | 'runs_out' | 'exhausted'
  /** Whole days that the rate is the mean of; 0 when it is unknown. */
  basisDays: number
  /** Whether days of the week differ, as they did in the last weeks. */
  isShaped: boolean
  microusdPerDay: number
  tokensPerDay: number
  /** By the end of the window, as if there were no limit. */
  expectedMicrousd: number
  expectedTokens: number
  /** When what usual tasks may use of a limit is used up, within this window. */
  exhaustedAt: number | null
  /** From now to the end of the window, a point each midnight. */
  path: { at: number; microusd: number; tokens: number }[]
}

/** Thursday was the first day of the epoch; 0 is Sunday. */
const weekdayOf = (day: number): number => (day + 4) % 7

interface Rate {
  basisDays: number
  microusd: number
  tokens: number
}

/** The mean of the last whole days; of a budget that was first used today, today so far. */
function readRate(days: DayUse[], today: number): Rate {
  const first = Math.min(...days.map(({ day }) => day))
  const from = Math.max(today - budgetForecast.rateDays, first)
  const isNew = from >= today
  const counted = days.filter(({ day }) => (isNew ? day === today : day >= from && day < today))
  const basisDays = isNew ? 1 : today - from
  const mean = (pick: (day: DayUse) => number) =>
    counted.reduce((sum, day) => sum + pick(day), 0) / basisDays
  return { basisDays, microusd: mean((day) => day.microusd), tokens: mean((day) => day.tokens) }
}

/** How much of a mean day each day of the week is; null without whole weeks to tell it from. */
function readShape(days: DayUse[], today: number): number[] | null {
  const first = Math.min(...days.map(({ day }) => day))
  const weeks = Math.min(budgetForecast.shapeWeeksMax, Math.floor((today - first) / 7))
  if (weeks < budgetForecast.shapeWeeksMin) return null
  const shape = Array.from({ length: 7 }, () => 0)
  const counted = days.filter(({ day }) => day >= today - weeks * 7 && day < today)
  // Money tells the days apart; without prices tokens do.
  const isPriced = counted.some(({ microusd }) => microusd > 0)
  let all = 0
  for (const { day, microusd, tokens } of counted) {
    const use = isPriced ? microusd : tokens
    shape[weekdayOf(day)] = (shape[weekdayOf(day)] ?? 0) + use
    all += use
  }
  return all === 0 ? null : shape.map((use) => (use * 7) / all)
}

/** When a limit is reached on a stretch that begins with `used` and adds `more`; null: not on it. */
function findCrossing(
  used: number,
  more: number,
  limit: number | null,
  stretch: { at: number; ms: number },
): number | null {
  if (limit === null || used + more < limit || more <= 0) return null
  return Math.round(stretch.at + (Math.max(0, limit - used) / more) * stretch.ms)
}

/** What of a limit usual tasks may use: admission counts it in the same way. */
const usableOf = (limit: number | null, { criticalShare }: ForecastBudget): number | null =>
  limit === null ? null : Math.floor(limit * criticalShare)

const isExhausted = (budget: ForecastBudget): boolean =>
  budget.spentMicrousd >= (usableOf(budget.limitMicrousd, budget) ?? Number.POSITIVE_INFINITY) ||
  budget.spentTokens >= (usableOf(budget.limitTokens, budget) ?? Number.POSITIVE_INFINITY)

/** Walks from now to the end of the window, midnight by midnight. */
function walk(budget: ForecastBudget, rate: Rate, shape: number[] | null, now: number) {
  const path = [{ at: now, microusd: budget.spentMicrousd, tokens: budget.spentTokens }]
  let used = path[0] as (typeof path)[number]
  let exhaustedAt: number | null = null
  const endsAt = budget.endsAt ?? now
  while (used.at < endsAt) {
    const day = Math.floor(used.at / DAY_MS)
    const at = Math.min((day + 1) * DAY_MS, endsAt)
    const stretch = { at: used.at, ms: at - used.at }
    const share = (stretch.ms / DAY_MS) * (shape?.[weekdayOf(day)] ?? 1)
    const microusd = rate.microusd * share
    const tokens = rate.tokens * share
    const crossings = [
      findCrossing(used.microusd, microusd, usableOf(budget.limitMicrousd, budget), stretch),
      findCrossing(used.tokens, tokens, usableOf(budget.limitTokens, budget), stretch),
    ].filter((crossing) => crossing !== null)
    if (exhaustedAt === null && crossings.length > 0) exhaustedAt = Math.min(...crossings)
    used = { at, microusd: used.microusd + microusd, tokens: used.tokens + tokens }
    path.push(used)
  }
  return { path, exhaustedAt }
}

/**
 * Where a budget is heading (B8): the mean of the last week, with the shape that weeks have had when
 * there are enough of them. It ignores that a budget which runs out stops the spending.
 *
 * @param days use of the last weeks; days without any may be absent
 */
export function forecast(budget: ForecastBudget, days: DayUse[], now: number): Forecast {
  const today = Math.floor(now / DAY_MS)
  const used = days.filter(
    ({ day, microusd, tokens }) => day <= today && (microusd > 0 || tokens > 0),
  )
  const isKnown = used.length > 0
  const rate = isKnown ? readRate(used, today) : { basisDays: 0, microusd: 0, tokens: 0 }
  const shape = isKnown ? readShape(used, today) : null
  const { path, exhaustedAt } = walk(budget, rate, shape, now)
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
