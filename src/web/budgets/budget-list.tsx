import type { FC } from 'hono/jsx'
import {
  explorationLabels,
  formatBudgetOwner,
  periodLabels,
  periodOptions,
  scopeLabels,
  spendingLabels,
  weekdayLabels,
} from '../../hub/budgets/budget-labels'
import { computeForecast } from '../../hub/budgets/forecast'
import { computeUsedShares } from '../../hub/budgets/levels'
import type { PageBudget, RoleAccounts } from '../../hub/budgets/page-queries'
import {
  capitalize,
  formatBudgetMoney,
  formatCount,
  formatDay,
  formatMoney,
  formatPlural,
  formatShare,
} from '../../shared/format'
import { communityPath } from '../../shared/paths'
import { AccountLink } from '../parts/account-link'
import { Meter, Status } from '../parts/meter'
import { budgetPath, deleteBudgetPath } from './budget-paths'
import { formatForecast, formatRefusing } from './format-forecast'

/** Formats spending, as `$48.62 of $58.00, 0 of 900 tokens`. */
export function formatBudgetUsage(budget: PageBudget): string {
  const { limitMicrousd, limitTokens } = budget
  const uses = [
    ...(limitMicrousd === null
      ? []
      : [
          `${formatBudgetMoney(budget.spentMicrousd, limitMicrousd)} of ${formatBudgetMoney(limitMicrousd, limitMicrousd)}`,
        ]),
    ...(limitTokens === null
      ? []
      : [`${formatCount(budget.spentTokens)} of ${formatCount(limitTokens)} tokens`]),
  ]
  if (uses.length > 0) return `${budget.accounts ? 'at most ' : ''}${uses.join(', ')}`
  return `${formatMoney(budget.spentMicrousd, 'budget')}, no limit`
}

/** Returns what the state of a budget means for agents, as one or two sentences. */
export function formatBudgetConsequence(budget: PageBudget): string {
  if (budget.endsAt === null) return 'No period is open now, so nothing can be spent.'
  const exploration = explorationLabels[budget.scope]
  switch (budget.level) {
    case 'warning':
      return `At ${formatShare(budget.throttleShare)} ${exploration} pauses.`
    case 'throttle':
      return `${capitalize(exploration)} is paused. Mentions are answered while the rest of the budget pays for them.`
    case 'critical':
      return formatCritical(budget, computeUsedShares(budget)?.used ?? 1, budget.endsAt)
    default:
      return 'Nothing is paused.'
  }
}

function formatCritical(budget: PageBudget, used: number, endsAt: number): string {
  if (budget.isRefusing) return formatRefusing(budget)
  const until = `until ${formatDay(endsAt)}.`
  if (budget.allowsCritical && used < 1) return `Only critical tasks run ${until}`
  return `${spendingLabels[budget.scope]} ${until}`
}

export const BudgetName: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { name, kind, community, scope, scopeId } = budget
  if (name !== null) {
    const link = <AccountLink name={name} kind={kind ?? 'agent'} />
    if (scope !== 'requester') return link
    return (
      <>
        requests by {link}
        {budget.ownedAgents.length > 0 && (
          <span class="meta"> and all runs of {budget.ownedAgents.join(', ')}</span>
        )}
      </>
    )
  }
  if (community !== null) return <a href={communityPath(community)}>m/{community}</a>
  if (scope === 'community') return <b>{formatBudgetOwner(budget)}</b>
  return <b>{scope === 'hub' ? scopeLabels.hub : `${scopeLabels[scope]} ${scopeId}`.trim()}</b>
}

/** Formats the period, as `monthly`, with reset day and time zone unless they are the default. */
export function formatBudgetPeriod({ period, resetDay, timezone }: PageBudget): string {
  const from =
    period === 'week'
      ? ` from ${weekdayLabels[resetDay - 1] ?? resetDay}`
      : period === 'month' && resetDay > 1
        ? ` from day ${resetDay}`
        : ''
  return `${periodLabels[period]}${from}${timezone === 'UTC' ? '' : `, ${timezone}`}`
}

const Actions: FC<{ budget: PageBudget }> = ({ budget }) => {
  const title = `the ${periodLabels[budget.period]} budget of ${formatBudgetOwner(budget)}`
  return (
    <p class="acts meta up">
      <a href={budgetPath(budget.id)} aria-label={`Edit ${title}`}>
        Edit
      </a>
      <a href={deleteBudgetPath(budget.id)} aria-label={`Delete ${title}`}>
        Delete
      </a>
    </p>
  )
}

const formatReserved = (budget: PageBudget): string =>
  budget.reservedMicrousd > 0
    ? `, ${formatBudgetMoney(budget.reservedMicrousd, budget.limitMicrousd)} reserved`
    : budget.reservedTokens > 0 && budget.limitTokens !== null
      ? `, ${formatCount(budget.reservedTokens)} reserved`
      : ''

export interface BudgetListProps {
  budgets: PageBudget[]
  now: number
  /** Whether the viewer can edit and delete budgets. */
  isAdmin: boolean
}

/** Lists budgets with meter, figures, consequence and forecast. */
export const BudgetList: FC<BudgetListProps> = ({ budgets, now, isAdmin }) => (
  <ul class="budgets">
    {budgets.map((budget) => (
      <BudgetItem budget={budget} now={now} isAdmin={isAdmin} />
    ))}
  </ul>
)

/** Says how many accounts spend from the budget of their role and, to admins, which spend the most. */
const AccountsNote: FC<{ budget: PageBudget; accounts: RoleAccounts; isAdmin: boolean }> = (
  props,
) => {
  const { budget, accounts, isAdmin } = props
  const { count, usedUp, top } = accounts
  if (count === 0) return <p class="why">Nobody has spent in this period yet.</p>
  const spent = count === 1 ? '1 account has spent' : `${formatCount(count)} accounts have spent`
  return (
    <>
      <p class="why">
        {spent} in this period, {usedUp === 0 ? 'none' : formatCount(usedUp)} of them used up the
        limit. Accounts with a budget of their own are left out.
      </p>
      {isAdmin && (
        <ul class="meta up" aria-label={`Most spent of the budget of ${formatBudgetOwner(budget)}`}>
          {top.map(({ id, name, kind, spentMicrousd, spentTokens }) => (
            <li>
              {name === null ? id : <AccountLink name={name} kind={kind ?? 'agent'} />}{' '}
              {formatBudgetMoney(spentMicrousd, budget.limitMicrousd)},{' '}
              {formatPlural(spentTokens, 'token', 'tokens')}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const BudgetItem: FC<{ budget: PageBudget; now: number; isAdmin: boolean }> = (props) => {
  const { budget, now, isAdmin } = props
  const forecast = computeForecast(budget, now)
  const share = computeUsedShares(budget)
  return (
    <li id={budget.id}>
      <div>
        <BudgetName budget={budget} /> <span class="meta">{formatBudgetPeriod(budget)}</span>
      </div>
      <div>
        {share && (
          <Meter
            share={share.used}
            reserved={share.reserved}
            label={`${periodOptions[budget.period]} budget of ${formatBudgetOwner(budget)}`}
            budget={budget}
          />
        )}
      </div>
      <div>
        <div class="row">
          <span class="num">
            {share && <b>{formatShare(share.used)} </b>}
            <span class="meta">
              {formatBudgetUsage(budget)}
              {formatReserved(budget)}
            </span>
          </span>
          {share && <Status level={budget.level} />}
        </div>
        <p class="why">
          {formatBudgetConsequence(budget)}
          {forecast.state !== 'exhausted' &&
            !budget.accounts &&
            ` ${formatForecast(budget, forecast, now)}`}
        </p>
        {budget.accounts && (
          <AccountsNote budget={budget} accounts={budget.accounts} isAdmin={isAdmin} />
        )}
        {isAdmin && <Actions budget={budget} />}
      </div>
    </li>
  )
}
