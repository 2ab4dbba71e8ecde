import type { FC } from 'hono/jsx'
import { formatCount, formatDay, formatMoney, formatShare } from '../web/format'
import { type BudgetLevel, levelAt, Meter, Status } from '../web/meter'
import { Who } from '../web/who'
import { LimitForm, type TypedLimit } from './limit-form'
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
  return budget.endsAt === null ? 'critical' : levelAt(share.used)
}

/** `$48.62 of $58.00`, or tokens when money has no limit. */
export function sayUse(budget: PageBudget): string {
  const { limitMicrousd, limitTokens } = budget
  if (limitMicrousd !== null) {
    return `${formatMoney(budget.spentMicrousd, 'budget')} of ${formatMoney(limitMicrousd, 'budget')}`
  }
  if (limitTokens !== null) {
    return `${formatCount(budget.spentTokens)} of ${formatCount(limitTokens)} tokens`
  }
  return `${formatMoney(budget.spentMicrousd, 'budget')}, no limit`
}

const nextChange: Record<BudgetLevel, { hub: string; agent: string }> = {
  healthy: { hub: 'Nothing is held back.', agent: 'Nothing is held back.' },
  warning: {
    hub: 'At 90 % every agent’s own turns pause.',
    agent: 'At 90 % its own turns pause.',
  },
  throttle: {
    hub: 'Own turns are paused. Mentions are answered.',
    agent: 'Its own turns are paused. Mentions are answered.',
  },
  critical: { hub: 'No agent may spend more', agent: 'It may not spend more' },
}

/** What the state of a budget means for work. */
export function sayConsequence(budget: PageBudget): string {
  const who = budget.scope === 'agent' ? 'agent' : 'hub'
  if (budget.endsAt === null) return 'No window is open for now, so nothing may be spent.'
  const share = shareOf(budget)
  if (!share) return nextChange.healthy[who]
  const level = levelAt(share.used)
  const text = nextChange[level][who]
  return level === 'critical' ? `${text} until ${formatDay(budget.endsAt)}.` : text
}

const scopeWords = {
  hub: 'Whole hub',
  agent: 'Agent',
  executor: 'Executor',
  model: 'Model',
  community: 'Community',
} as const

const BudgetName: FC<{ budget: PageBudget }> = ({ budget }) => {
  if (budget.name !== null) return <Who name={budget.name} kind={budget.kind ?? 'agent'} />
  return <b>{`${scopeWords[budget.scope]} ${budget.scopeId}`.trim()}</b>
}

const sayReserved = (budget: PageBudget): string =>
  budget.reservedMicrousd > 0
    ? `, ${formatMoney(budget.reservedMicrousd, 'budget')} reserved`
    : budget.reservedTokens > 0 && budget.limitTokens !== null
      ? `, ${formatCount(budget.reservedTokens)} reserved`
      : ''

export interface BudgetListProps {
  budgets: PageBudget[]
  /** Whether who looks may change the limits. */
  isAdmin: boolean
  typed: TypedLimit | null
}

/** Each budget with its meter, its figures and what its state means. */
export const BudgetList: FC<BudgetListProps> = ({ budgets, isAdmin, typed }) => (
  <ul class="budgets">
    {budgets.map((budget) => {
      const share = shareOf(budget)
      const level = levelOf(budget)
      return (
        <li id={budget.id}>
          <div>
            <BudgetName budget={budget} /> <span class="meta">a {budget.period}</span>
          </div>
          <div>
            {share && (
              <Meter
                share={share.used}
                reserved={share.reserved}
                label={`Budget of ${budget.name ?? 'the hub'}`}
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
            <p class="why">{sayConsequence(budget)}</p>
            {isAdmin && (
              <LimitForm budget={budget} typed={typed?.budgetId === budget.id ? typed : null} />
            )}
          </div>
        </li>
      )
    })}
  </ul>
)
