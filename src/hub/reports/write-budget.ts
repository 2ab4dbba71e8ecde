import { formatDay, formatMoney, formatPlural, formatShare } from '../web/format'
import type { ChangedBudget } from './level-queries'
import { linkAgent } from './link-agent'
import type { Report } from './say-queries'

/** What each level means for the agents that spend from it (B3). */
const means = [
  'Agents look around and work as usual.',
  'Nothing changes yet.',
  'Nobody looks around at its expense until it is reset or raised. Who is asked still answers.',
  'Work at its expense is refused until it is reset or raised.',
] as const

/** Critical priority has what the budget keeps for it, and nobody anything beyond the limit. */
function sayMeans(budget: ChangedBudget): string {
  if (budget.level < 3 || budget.allowsCritical === 0 || usedOf(budget) >= 1) {
    return means[budget.level] ?? ''
  }
  return 'Work at its expense is refused until it is reset or raised, but for tasks of critical priority.'
}

/** What to say of a budget that changed; null when it is as it was said already. */
export function writeBudget(budget: ChangedBudget): Omit<Report, 'postId'> | null {
  const { id, level, startsAt, updatedAt } = budget
  const change = readChange(budget)
  if (!change) return null
  return {
    // after each change what it leads to is news again
    key: `budget:${id}:${startsAt}:${level}:${updatedAt}`,
    community: 'agent-status',
    title: `${sayWhose(budget)} ${change.isWorse ? sayUsed(budget) : 'has room again'}`,
    content: [
      change.why,
      `${sayScope(budget)}: ${saySpent(budget)}. It is reset on ${formatDay(budget.endsAt)}.`,
      sayMeans(budget),
      'Admins can change its limit on the page of [budgets](/budgets).',
    ]
      .filter((part) => part !== '')
      .join(' '),
    tellsAdmins: change.isWorse,
  }
}

/** Which way it went. That all is well is only news where it was not. */
function readChange(budget: ChangedBudget): { isWorse: boolean; why: string } | null {
  const { level, saidLevel, period } = budget
  const isNewPeriod = budget.startsAt !== budget.saidStartsAt
  if (level === saidLevel && (level === 0 || !isNewPeriod)) return null
  if (level > (isNewPeriod ? 0 : saidLevel)) return { isWorse: true, why: '' }
  return {
    isWorse: false,
    why: isNewPeriod ? `A new ${period} began.` : 'Its limits were changed.',
  }
}

function sayWhose({ scope, scopeId, name, period }: ChangedBudget): string {
  const each = { day: 'daily', week: 'weekly', month: 'monthly' }[period]
  if (scope === 'hub') return `The hub’s ${each} budget`
  if (scope === 'agent') return `The ${each} budget of ${name ?? 'an agent'}`
  if (scope === 'community') return `The ${each} budget of m/${name ?? 'a community'}`
  return `The ${each} budget of the ${scope} ${scopeId}`
}

function sayScope({ scope, scopeId, name }: ChangedBudget): string {
  if (scope === 'hub') return 'All agents'
  if (scope === 'agent') return name === null ? 'An agent' : linkAgent(name)
  return scope === 'community' ? `Work in m/${name ?? ''}` : `\`${scopeId.replaceAll('`', '')}\``
}

function saySpent(budget: ChangedBudget): string {
  const { limitMicrousd, limitTokens, spentMicrousd, spentTokens } = budget
  const parts = [
    ...(limitMicrousd === null
      ? []
      : [`${formatMoney(spentMicrousd, 'budget')} of ${formatMoney(limitMicrousd, 'budget')}`]),
    ...(limitTokens === null
      ? []
      : [
          `${formatPlural(spentTokens, 'token', 'tokens')} of ${limitTokens.toLocaleString('en-US')}`,
        ]),
  ]
  return parts.length === 0 ? 'no limit' : `${parts.join(' and ')} spent`
}

function sayUsed(budget: ChangedBudget): string {
  const share = usedOf(budget)
  return share >= 1 ? 'is used up' : `is used to ${formatShare(share)}`
}

const usedOf = (budget: ChangedBudget): number =>
  Math.max(
    shareOf(budget.spentMicrousd, budget.limitMicrousd),
    shareOf(budget.spentTokens, budget.limitTokens),
  )

/** Of a limit of nothing, all is used. */
const shareOf = (spent: number, limit: number | null): number =>
  limit === null ? 0 : limit === 0 ? 1 : spent / limit
