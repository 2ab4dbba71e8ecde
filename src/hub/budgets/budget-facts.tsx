import type { FC } from 'hono/jsx'
import { formatCount, formatDay, formatMoney, formatShare, sayPeriod } from '../web/format'
import { shareOf } from './budget-list'
import type { Forecast } from './forecast'
import { sayBasis, sayRate, sayWhen } from './forecast-words'
import type { PageBudget } from './page-queries'

export interface BudgetFactsProps {
  budget: PageBudget
  seen: Forecast
  now: number
}

/** Four figures of a budget: spent, left, how fast, until when. */
export const BudgetFacts: FC<BudgetFactsProps> = ({ budget, seen, now }) => (
  <dl class="facts">
    <Spent budget={budget} />
    <Left budget={budget} />
    <div>
      <dt>Run rate</dt>
      <dd>
        {seen.basisDays === 0 ? 'none yet' : sayRate(budget, seen).replace(' a day', '')}
        <small>
          {seen.basisDays === 0 ? 'nothing was spent lately' : `a day, ${sayBasis(seen)}`}
        </small>
      </dd>
    </div>
    <End budget={budget} seen={seen} now={now} />
  </dl>
)

const isInTokens = ({ limitMicrousd, limitTokens }: PageBudget): boolean =>
  limitMicrousd === null && limitTokens !== null

const Spent: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { limitMicrousd, limitTokens } = budget
  const share = shareOf(budget)
  const limit =
    limitMicrousd !== null
      ? formatMoney(limitMicrousd, 'budget')
      : limitTokens !== null
        ? formatCount(limitTokens)
        : null
  return (
    <div>
      <dt>Spent {sayPeriod(budget.period)}</dt>
      <dd>
        {isInTokens(budget)
          ? `${formatCount(budget.spentTokens)} tokens`
          : formatMoney(budget.spentMicrousd, 'budget')}
        <small>
          {limit && share
            ? `of ${limit}, ${formatShare(share.used)}`
            : `${formatCount(budget.spentTokens)} tokens, no limit is set`}
        </small>
      </dd>
    </div>
  )
}

const Left: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { limitMicrousd, limitTokens, endsAt } = budget
  const share = keepsForCritical(budget) ? 1 : budget.criticalShare
  const left = (limit: number, spent: number) =>
    endsAt === null ? 0 : Math.max(0, Math.floor(limit * share) - spent)
  const reserved =
    budget.reservedMicrousd > 0
      ? `${formatMoney(budget.reservedMicrousd, 'budget')} reserved by running work`
      : endsAt === null
        ? 'no window is open'
        : `until ${formatDay(endsAt)}`
  return (
    <div>
      <dt>Left</dt>
      <dd>
        {limitMicrousd !== null
          ? formatMoney(left(limitMicrousd, budget.spentMicrousd), 'budget')
          : limitTokens !== null
            ? `${formatCount(left(limitTokens, budget.spentTokens))} tokens`
            : 'no limit'}
        <small>{reserved}</small>
      </dd>
    </div>
  )
}

/** Whether tasks of critical priority may use what usual ones may not. */
const keepsForCritical = ({ allowsCritical, criticalShare }: PageBudget): boolean =>
  allowsCritical === 1 && criticalShare < 1

/** What the forecast means for work. */
function sayEnd(budget: PageBudget, { state }: Forecast): string {
  switch (state) {
    case 'unknown':
      return budget.endsAt === null ? '' : `the window ends ${formatDay(budget.endsAt)}`
    case 'unlimited':
      return 'there is none'
    case 'lasts':
      return 'it lasts until the next one begins'
    case 'runs_out':
      return `then ${keepsForCritical(budget) ? 'only critical tasks run' : 'no agent may spend'}`
    case 'exhausted':
      return keepsForCritical(budget) && (shareOf(budget)?.used ?? 1) < 1
        ? 'only critical tasks run'
        : 'no agent may spend'
  }
}

const End: FC<BudgetFactsProps> = ({ budget, seen, now }) => {
  const when =
    seen.state === 'runs_out'
      ? sayWhen(seen.exhaustedAt ?? now, now)
      : seen.state === 'exhausted'
        ? 'now'
        : seen.state === 'unlimited'
          ? 'never'
          : 'not in sight'
  return (
    <div>
      <dt>Limit reached</dt>
      <dd>
        {when}
        <small>{sayEnd(budget, seen)}</small>
      </dd>
    </div>
  )
}
