import type { FC } from 'hono/jsx'
import { formatCount, formatDay, formatMoney, formatShare } from '../web/format'
import { type BudgetLevel, levelAt, Meter, Status } from '../web/meter'
import { communityPath, Who } from '../web/who'
import { budgetPath, removalPath } from './budget-paths'
import type { Forecast } from './forecast'
import { sayForecast } from './forecast-words'
import type { PageBudget } from './page-queries'

/** The larger share of the limits that a budget has; null when it has none. */
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

/** Null without a limit. A limited budget without a window for now has nothing left: it fails closed. */
export function levelOf(budget: PageBudget): BudgetLevel | null {
  const share = shareOf(budget)
  if (!share) return null
  return budget.endsAt === null ? 'critical' : levelAt(share.used, budget)
}

/** `$48.62 of $58.00`, and so many tokens of how many where they have a limit. */
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

/** Whom a budget holds back, as the beginning of a sentence. */
const scopeTurns: Record<PageBudget['scope'], string> = {
  hub: 'every agent’s own turns',
  agent: 'its own turns',
  executor: 'own turns on its models',
  model: 'own turns on it',
  community: 'own turns in it',
}

const capital = (text: string): string => text.replace(/^./, (letter) => letter.toUpperCase())

/** What the state of a budget means for work. */
export function sayConsequence(budget: PageBudget): string {
  if (budget.endsAt === null) return 'No window is open for now, so nothing may be spent.'
  const share = shareOf(budget)
  const turns = scopeTurns[budget.scope]
  switch (share && levelAt(share.used, budget)) {
    case 'warning':
      return `At ${formatShare(budget.throttleShare)} ${turns} pause.`
    case 'throttle':
      return `${capital(budget.scope === 'hub' ? 'own turns' : turns)} are paused. Mentions are answered.`
    case 'critical':
      return sayCritical(budget, share?.used ?? 1, budget.endsAt)
    default:
      return 'Nothing is held back.'
  }
}

function sayCritical(budget: PageBudget, used: number, endsAt: number): string {
  const until = `until ${formatDay(endsAt)}.`
  if (budget.allowsCritical && used < 1) return `Only critical tasks run ${until}`
  return `${budget.scope === 'hub' ? 'No agent may' : 'It may not'} spend more ${until}`
}

const scopeWords = {
  hub: 'Whole hub',
  agent: 'Agent',
  executor: 'Provider',
  model: 'Model',
  community: 'Community',
} as const

export const BudgetName: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { name, kind, community, scope, scopeId } = budget
  if (name !== null) return <Who name={name} kind={kind ?? 'agent'} />
  if (community !== null) return <a href={communityPath(community)}>m/{community}</a>
  return <b>{scope === 'hub' ? scopeWords.hub : `${scopeWords[scope]} ${scopeId}`.trim()}</b>
}

/** Names a budget where no mark and no link can stand. */
export const nameBudget = (budget: PageBudget): string =>
  budget.name ??
  (budget.community && `m/${budget.community}`) ??
  (budget.scope === 'hub' ? 'the hub' : budget.scopeId)

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

/** `a month`, and where it begins when that is not where people think. */
export function sayPeriods({ period, resetDay, timezone }: PageBudget): string {
  const from =
    period === 'week'
      ? ` from ${weekdays[resetDay - 1] ?? resetDay}`
      : period === 'month' && resetDay > 1
        ? ` from day ${resetDay}`
        : ''
  return `a ${period}${from}${timezone === 'UTC' ? '' : `, ${timezone}`}`
}

const Changes: FC<{ budget: PageBudget }> = ({ budget }) => {
  const whose = `the budget of ${nameBudget(budget)} a ${budget.period}`
  return (
    <p class="acts meta up">
      <a href={budgetPath(budget.id)} aria-label={`Change ${whose}`}>
        Change
      </a>
      <a href={removalPath(budget.id)} aria-label={`Take away ${whose}`}>
        Take away
      </a>
    </p>
  )
}

const sayReserved = (budget: PageBudget): string =>
  budget.reservedMicrousd > 0
    ? `, ${formatMoney(budget.reservedMicrousd, 'budget')} reserved`
    : budget.reservedTokens > 0 && budget.limitTokens !== null
      ? `, ${formatCount(budget.reservedTokens)} reserved`
      : ''

export interface BudgetListProps {
  budgets: PageBudget[]
  /** By the id of the budget. */
  forecasts: Map<string, Forecast>
  now: number
  /** Whether who looks may change the limits. */
  isAdmin: boolean
}

/** Each budget with its meter, its figures, what its state means and where it is heading. */
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
            label={`Budget of ${nameBudget(budget)} a ${budget.period}`}
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
              {sayReserved(budget)}
            </span>
          </span>
          {level && <Status level={level} />}
        </div>
        <p class="why">
          {sayConsequence(budget)}
          {seen && seen.state !== 'exhausted' && ` ${sayForecast(budget, seen, now)}`}
        </p>
        {isAdmin && <Changes budget={budget} />}
      </div>
    </li>
  )
}
