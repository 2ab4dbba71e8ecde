import type { FC } from 'hono/jsx'
import type { Forecast } from '../../hub/budgets/forecast'
import { computeUsedShares, toUsableLimit } from '../../hub/budgets/levels'
import type { PageBudget } from '../../hub/budgets/page-queries'
import {
  formatBudgetMoney,
  formatCount,
  formatDay,
  formatPeriod,
  formatShare,
} from '../../shared/format'
import { formatEstimatedTime, formatRateBasis, formatRunRate } from './format-forecast'

export interface BudgetFactsProps {
  budget: PageBudget
  forecast: Forecast
  now: number
}

/** Shows four figures of a budget: spent, remaining, run rate, and when the limit is reached. */
export const BudgetFacts: FC<BudgetFactsProps> = ({ budget, forecast, now }) => (
  <dl class="facts">
    <Spent budget={budget} />
    <Remaining budget={budget} />
    <div>
      <dt>Run rate</dt>
      <dd>
        {forecast.state === 'unknown'
          ? 'None yet'
          : formatRunRate(budget, forecast).replace(' a day', '')}
        <small>
          {forecast.state === 'unknown'
            ? 'nothing spent in this period'
            : `a day, ${formatRateBasis(budget)}`}
        </small>
      </dd>
    </div>
    <LimitReached budget={budget} forecast={forecast} now={now} />
  </dl>
)

const isInTokens = ({ limitMicrousd, limitTokens }: PageBudget): boolean =>
  limitMicrousd === null && limitTokens !== null

const Spent: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { limitMicrousd, limitTokens } = budget
  const share = computeUsedShares(budget)
  const limit =
    limitMicrousd !== null
      ? formatBudgetMoney(limitMicrousd, limitMicrousd)
      : limitTokens !== null
        ? formatCount(limitTokens)
        : null
  return (
    <div>
      <dt>Spent {formatPeriod(budget.period)}</dt>
      <dd>
        {isInTokens(budget)
          ? `${formatCount(budget.spentTokens)} tokens`
          : formatBudgetMoney(budget.spentMicrousd, limitMicrousd)}
        <small>
          {limit && share
            ? `of ${limit}, ${formatShare(share.used)}`
            : `${formatCount(budget.spentTokens)} tokens, no limit set`}
        </small>
      </dd>
    </div>
  )
}

const Remaining: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { limitMicrousd, limitTokens, endsAt } = budget
  const usable = (limit: number) =>
    hasCriticalReserve(budget) ? limit : toUsableLimit(limit, budget)
  const remaining = (limit: number, spent: number) =>
    endsAt === null ? 0 : Math.max(0, usable(limit) - spent)
  const reserved =
    budget.reservedMicrousd > 0
      ? `${formatBudgetMoney(budget.reservedMicrousd, limitMicrousd)} reserved by running agents`
      : endsAt === null
        ? 'no period is open'
        : `until ${formatDay(endsAt)}`
  return (
    <div>
      <dt>Remaining</dt>
      <dd>
        {limitMicrousd !== null
          ? formatBudgetMoney(remaining(limitMicrousd, budget.spentMicrousd), limitMicrousd)
          : limitTokens !== null
            ? `${formatCount(remaining(limitTokens, budget.spentTokens))} tokens`
            : 'No limit'}
        <small>{reserved}</small>
      </dd>
    </div>
  )
}

/** Whether part of the limit is reserved for tasks of critical priority. */
const hasCriticalReserve = ({ allowsCritical, criticalShare }: PageBudget): boolean =>
  allowsCritical && criticalShare < 1

/** Returns what happens at the limit, or when the period ends. */
function formatConsequence(budget: PageBudget, { state }: Forecast): string {
  switch (state) {
    case 'unknown':
      return budget.endsAt === null ? '' : `the period ends ${formatDay(budget.endsAt)}`
    case 'unlimited':
      return 'no limit is set'
    case 'lasts':
      return 'lasts until the next period'
    case 'runs_out':
      return `then ${hasCriticalReserve(budget) ? 'only critical tasks run' : 'no agent can spend'}`
    case 'exhausted':
      if (budget.isRefusing) return 'too little is left for a call'
      return hasCriticalReserve(budget) && (computeUsedShares(budget)?.used ?? 1) < 1
        ? 'only critical tasks run'
        : 'no agent can spend'
  }
}

const LimitReached: FC<BudgetFactsProps> = ({ budget, forecast, now }) => {
  const when =
    forecast.state === 'runs_out'
      ? formatEstimatedTime(forecast.exhaustedAt ?? now, now)
      : forecast.state === 'exhausted'
        ? 'Now'
        : forecast.state === 'unlimited'
          ? 'Never'
          : 'Not in this period'
  return (
    <div>
      <dt>Limit reached</dt>
      <dd>
        {when}
        <small>{formatConsequence(budget, forecast)}</small>
      </dd>
    </div>
  )
}
