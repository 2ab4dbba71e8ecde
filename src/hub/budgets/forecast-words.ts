import { formatCount, formatDay, formatMoney } from '../web/format'
import type { Forecast } from './forecast'
import type { PageBudget } from './page-queries'

/** Money when that is what the budget is about, else tokens. */
const isInTokens = (budget: PageBudget, seen: Forecast): boolean =>
  (budget.limitMicrousd === null && budget.limitTokens !== null) ||
  (budget.limitMicrousd === null && seen.microusdPerDay === 0)

/** `$6.81 a day`. */
export const sayRate = (budget: PageBudget, seen: Forecast): string =>
  isInTokens(budget, seen)
    ? `${formatCount(seen.tokensPerDay)} tokens a day`
    : `${formatMoney(seen.microusdPerDay, 'budget')} a day`

/** `mean of the last 7 days, by weekday`. */
export function sayBasis(seen: Forecast): string {
  const days =
    seen.basisDays === 1 ? 'of one day so far' : `mean of the last ${seen.basisDays} days`
  return seen.isShaped ? `${days}, shaped by weekday` : days
}

const sayExpected = (budget: PageBudget, seen: Forecast): string =>
  isInTokens(budget, seen)
    ? `${formatCount(seen.expectedTokens)} tokens`
    : formatMoney(seen.expectedMicrousd, 'budget')

const HOUR_MS = 3_600_000

/** `about 23 Nov 2026`, `in about 5 h`. */
export function sayWhen(at: number, now: number): string {
  const hours = (at - now) / HOUR_MS
  if (hours < 1) return 'within the hour'
  if (hours < 24) return `in about ${Math.round(hours)}\u00a0h`
  return `about ${formatDay(at)}`
}

/** Where a budget is heading, in one sentence. */
export function sayForecast(budget: PageBudget, seen: Forecast, now: number): string {
  const end = budget.endsAt === null ? 'the end' : formatDay(budget.endsAt)
  const rate = `At ${sayRate(budget, seen)}`
  switch (seen.state) {
    case 'unknown':
      return 'Nothing was spent lately, so there is no forecast.'
    case 'unlimited':
      return `${rate}: ${sayExpected(budget, seen)} by ${end}.`
    case 'lasts':
      return `${rate} it lasts: about ${sayExpected(budget, seen)} by ${end}.`
    case 'runs_out':
      return `${rate} it is used up ${sayWhen(seen.exhaustedAt ?? now, now)}.`
    case 'exhausted':
      return `It is used up; the next ${budget.period} begins on ${end}.`
  }
}
