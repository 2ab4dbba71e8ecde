import type { Forecast } from '../../hub/budgets/forecast'
import type { PageBudget } from '../../hub/budgets/page-queries'
import { formatCount, formatDay, formatMoney } from '../../shared/format'

/** Whether figures are shown in tokens: without a limit in money, when tokens are limited or no money is spent. */
const isInTokens = (budget: PageBudget, forecast: Forecast): boolean =>
  (budget.limitMicrousd === null && budget.limitTokens !== null) ||
  (budget.limitMicrousd === null && forecast.microusdPerDay === 0)

/** Formats the run rate, as `$6.81 a day`. */
export const formatRunRate = (budget: PageBudget, forecast: Forecast): string =>
  isInTokens(budget, forecast)
    ? `${formatCount(forecast.tokensPerDay)} tokens a day`
    : `${formatMoney(forecast.microusdPerDay, 'budget')} a day`

/** Formats what a run rate is based on, as `mean since 1 Nov 2026`. */
export const formatRateBasis = ({ startsAt }: PageBudget): string =>
  startsAt === null ? 'no period is open' : `mean since ${formatDay(startsAt)}`

const formatExpectedUsage = (budget: PageBudget, forecast: Forecast): string =>
  isInTokens(budget, forecast)
    ? `${formatCount(forecast.expectedTokens)} tokens`
    : formatMoney(forecast.expectedMicrousd, 'budget')

const HOUR_MS = 3_600_000

/** Formats an estimated time, as `about 23 Nov 2026` or `in about 5 h`. */
export function formatEstimatedTime(at: number, now: number): string {
  const hours = (at - now) / HOUR_MS
  if (hours < 1) return 'within the hour'
  if (hours < 24) return `in about ${Math.round(hours)}\u00a0h`
  return `about ${formatDay(at)}`
}

/** Formats the least that the last refused call could take. */
function formatNeed({ limitMicrousd, neededMicrousd, neededTokens }: PageBudget): string {
  return limitMicrousd === null || !neededMicrousd
    ? `${formatCount(neededTokens ?? 0)} tokens`
    : formatMoney(neededMicrousd, 'trace')
}

/** Formats that a budget has refused a call, because too little is left of it. */
export const formatRefusing = (budget: PageBudget): string =>
  `A call that needs ${formatNeed(budget)} was refused: too little is left until ${formatEnd(budget)}.`

const formatEnd = ({ endsAt }: PageBudget): string =>
  endsAt === null ? 'the end of the period' : formatDay(endsAt)

/** Formats the forecast of a budget as one sentence. */
export function formatForecast(budget: PageBudget, forecast: Forecast, now: number): string {
  const end = formatEnd(budget)
  const rate = formatRunRate(budget, forecast)
  switch (forecast.state) {
    case 'unknown':
      return 'No forecast, because nothing was spent in this period.'
    case 'unlimited':
      return `Forecast at ${rate}: ${formatExpectedUsage(budget, forecast)} by ${end}.`
    case 'lasts':
      return `Forecast at ${rate}: about ${formatExpectedUsage(budget, forecast)} by ${end}, within the limit.`
    case 'runs_out':
      return `Forecast at ${rate}: limit reached ${formatEstimatedTime(forecast.exhaustedAt ?? now, now)}.`
    case 'exhausted':
      return budget.isRefusing ? formatRefusing(budget) : `The budget is exhausted until ${end}.`
  }
}
