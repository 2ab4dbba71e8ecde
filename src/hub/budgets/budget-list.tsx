import type { FC } from 'hono/jsx'
import { formatCount, formatDay, formatMoney, formatShare } from '../web/format'
import { type BudgetLevel, levelAt, Meter, Status } from '../web/meter'
import { communityPath, Who } from '../web/who'
import {
  explorationLabels,
  periodLabels,
  periodOptions,
  scopeLabels,
  spendingLabels,
  weekdayLabels,
} from './budget-labels'
import { budgetPath, removalPath } from './budget-paths'
import type { Forecast } from './forecast'
import { sayForecast } from './forecast-words'
import type { PageBudget } from './page-queries'

/** Returns the used and reserved share of the limit that is used more; null without a limit. */
export function shareOf(budget: PageBudget): { used: number; reserved: number } | null {
  const { limitMicrousd, limitTokens } = budget
  const share = (part: number, limit: number) => (limit > 0 ? part / limit : part > 0 ? 2 : 1)
  const kinds = [
    limitMicrousd === null
      ? null
      : {
          used: share(budget.spentMicrousd, limitMicrousd),
          reserved: share(budget.reservedMicrousd, limitMicrousd),
        },
    limitTokens === null
      ? null
      : {
          used: share(budget.spentTokens, limitTokens),
          reserved: share(budget.reservedTokens, limitTokens),
        },
  ].filter((kind) => kind !== null)
  return kinds.sort((a, b) => b.used - a.used)[0] ?? null
}

/** Returns the level of a budget, or null without a limit. Fails closed: critical without a current window. */
export function levelOf(budget: PageBudget): BudgetLevel | null {
  const share = shareOf(budget)
  if (!share) return null
  return budget.endsAt === null ? 'critical' : levelAt(share.used, budget)
}

/** Formats spending, as `$48.62 of $58.00, 0 of 900 tokens`. */
export function sayUse(budget: PageBudget): string {
  const { limitMicrousd, limitTokens } = budget
  const uses = [
    ...(limitMicrousd === null
      ? []
      : [
          `${formatMoney(budget.spentMicrousd, 'budget')} of ${formatMoney(limitMicrousd, 'budget')}`,
        ]),
    ...(limitTokens === null
      ? []
      : [`${formatCount(budget.spentTokens)} of ${formatCount(limitTokens)} tokens`]),
  ]
  if (uses.length > 0) return uses.join(', ')
  return `${formatMoney(budget.spentMicrousd, 'budget')}, no limit`
}

const capitalize = (text: string): string => text.replace(/^./, (letter) => letter.toUpperCase())

/** Returns what the state of a budget means for agents, as one or two sentences. */
export function sayConsequence(budget: PageBudget): string {
  if (budget.endsAt === null) return 'No period is open now, so nothing can be spent.'
  const share = shareOf(budget)
  const exploration = explorationLabels[budget.scope]
  switch (share && levelAt(share.used, budget)) {
    case 'warning':
      return `At ${formatShare(budget.throttleShare)} ${exploration} pauses.`
    case 'throttle':
      return `${capitalize(exploration)} is paused. Mentions are still answered.`
    case 'critical':
      return formatCritical(budget, share?.used ?? 1, budget.endsAt)
    default:
      return 'Nothing is paused.'
  }
}

function formatCritical(budget: PageBudget, used: number, endsAt: number): string {
  const until = `until ${formatDay(endsAt)}.`
  if (budget.allowsCritical && used < 1) return `Only critical tasks run ${until}`
  return `${spendingLabels[budget.scope]} ${until}`
}

export const BudgetName: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { name, kind, community, scope, scopeId } = budget
  if (name !== null) return <Who name={name} kind={kind ?? 'agent'} />
  if (community !== null) return <a href={communityPath(community)}>m/{community}</a>
  return <b>{scope === 'hub' ? scopeLabels.hub : `${scopeLabels[scope]} ${scopeId}`.trim()}</b>
}

/** Returns the name of a budget as plain text. */
export const nameBudget = (budget: PageBudget): string =>
  budget.name ??
  (budget.community && `m/${budget.community}`) ??
  (budget.scope === 'hub' ? 'the hub' : budget.scopeId)

/** Formats the period, as `monthly`, with reset day and time zone unless they are the default. */
export function sayPeriods({ period, resetDay, timezone }: PageBudget): string {
  const from =
    period === 'week'
      ? ` from ${weekdayLabels[resetDay - 1] ?? resetDay}`
      : period === 'month' && resetDay > 1
        ? ` from day ${resetDay}`
        : ''
  return `${periodLabels[period]}${from}${timezone === 'UTC' ? '' : `, ${timezone}`}`
}

const Actions: FC<{ budget: PageBudget }> = ({ budget }) => {
  const title = `the ${periodLabels[budget.period]} budget of ${nameBudget(budget)}`
  return (
    <p class="acts meta up">
      <a href={budgetPath(budget.id)} aria-label={`Edit ${title}`}>
        Edit
      </a>
      <a href={removalPath(budget.id)} aria-label={`Delete ${title}`}>
        Delete
      </a>
    </p>
  )
}

const formatReserved = (budget: PageBudget): string =>
  budget.reservedMicrousd > 0
    ? `, ${formatMoney(budget.reservedMicrousd, 'budget')} reserved`
    : budget.reservedTokens > 0 && budget.limitTokens !== null
      ? `, ${formatCount(budget.reservedTokens)} reserved`
      : ''

export interface BudgetListProps {
  budgets: PageBudget[]
  /** By budget id. */
  forecasts: Map<string, Forecast>
  now: number
  /** Whether the viewer can edit and delete budgets. */
  isAdmin: boolean
}

/** Lists budgets with meter, figures, consequence and forecast. */
export const BudgetList: FC<BudgetListProps> = ({ budgets, forecasts, now, isAdmin }) => (
  <ul class="budgets">
    {budgets.map((budget) => (
      <BudgetItem
        budget={budget}
        seen={forecasts.get(budget.id) ?? null}
        now={now}
        isAdmin={isAdmin}
      />
    ))}
  </ul>
)

const BudgetItem: FC<{
  budget: PageBudget
  seen: Forecast | null
  now: number
  isAdmin: boolean
}> = ({ budget, seen, now, isAdmin }) => {
  const share = shareOf(budget)
  const level = levelOf(budget)
  return (
    <li id={budget.id}>
      <div>
        <BudgetName budget={budget} /> <span class="meta">{sayPeriods(budget)}</span>
      </div>
      <div>
        {share && (
          <Meter
            share={share.used}
            reserved={share.reserved}
            label={`${periodOptions[budget.period]} budget of ${nameBudget(budget)}`}
            marks={budget}
          />
        )}
      </div>
      <div>
        <div class="row">
          <span class="num">
            {share && <b>{formatShare(share.used)} </b>}
            <span class="meta">
              {sayUse(budget)}
              {formatReserved(budget)}
            </span>
          </span>
          {level && <Status level={level} />}
        </div>
        <p class="why">
          {sayConsequence(budget)}
          {seen && seen.state !== 'exhausted' && ` ${sayForecast(budget, seen, now)}`}
        </p>
        {isAdmin && <Actions budget={budget} />}
      </div>
    </li>
  )
}
