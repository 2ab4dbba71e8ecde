import { formatDay, formatMoney, formatPlural, formatShare } from '../../shared/format'
import { periodLabels } from '../budgets/budget-labels'
import { computeUsedShares } from '../budgets/levels'
import { criticalOnlyConsequence, levelConsequences, refusingConsequence } from './budget-labels'
import type { ChangedBudget, UsedUpAccount } from './level-queries'
import { formatAgentLink } from './link-agent'
import type { Report } from './report-queries'

/** Critical tasks can use the share that the budget keeps for them, but nothing beyond the limit. */
function formatConsequence(budget: ChangedBudget): string {
  if (budget.isRefusing) return refusingConsequence
  const hasCriticalShare = budget.allowsCritical && computeUsedShare(budget) < 1
  if (budget.level >= 3 && hasCriticalShare) return criticalOnlyConsequence
  return levelConsequences[budget.level] ?? ''
}

/** Formats the alert about a changed budget; null when its state was already reported. */
export function formatBudgetAlert(budget: ChangedBudget): Omit<Report, 'postId'> | null {
  const { id, level, startsAt, updatedAt } = budget
  const change = detectChange(budget)
  if (!change) return null
  return {
    // `updatedAt` makes the same level reportable again after an admin changed the budget.
    key: `budget:${id}:${startsAt}:${level}:${updatedAt}`,
    community: 'agent-status',
    title: `${formatOwner(budget)} ${change.isWorse ? formatUsedShare(budget) : 'is available again'}`,
    content: [
      change.reason,
      `${formatScope(budget)}: ${formatSpent(budget)}. Resets on ${formatDay(budget.endsAt)}.`,
      formatConsequence(budget),
      'Admins can change the limit in [budgets](/budgets).',
    ]
      .filter((part) => part !== '')
      .join(' '),
    notifiesAdmins: change.isWorse,
  }
}

/** Formats the alert about an account that has used up the budget of its role, without its name. */
export function formatAccountAlert(account: UsedUpAccount): Omit<Report, 'postId'> {
  const { id, accountId, startsAt, updatedAt, scope, period, endsAt, isRefusing } = account
  const role = scope === 'role:guest' ? 'guest' : 'member'
  return {
    key: `budget:${id}:${accountId}:${startsAt}:${updatedAt}`,
    community: 'agent-status',
    title: isRefusing
      ? `Too little is left for a ${role} of the ${periodLabels[period]} budget per ${role}`
      : `A ${role} has used up the ${periodLabels[period]} budget per ${role}`,
    content: [
      `${formatSpent(account)}. It resets on ${formatDay(endsAt)}.`,
      `Tasks of this ${role}${isRefusing ? ' that need more' : ''} are refused until then. Others are not affected.`,
      'Admins see who it is in [budgets](/budgets), where they can change the limit or create a budget for the account.',
    ].join(' '),
    notifiesAdmins: true,
  }
}

/** Compares a budget with its last report; null when there is nothing to report. */
function detectChange(budget: ChangedBudget): { isWorse: boolean; reason: string } | null {
  const { level, reportedLevel, period } = budget
  const isNewPeriod = budget.startsAt !== budget.reportedStartsAt
  if (level === reportedLevel && (level === 0 || !isNewPeriod)) return null
  if (level > (isNewPeriod ? 0 : reportedLevel)) return { isWorse: true, reason: '' }
  return {
    isWorse: false,
    reason: isNewPeriod
      ? `A new ${period} has started.`
      : 'The limit or the thresholds were changed.',
  }
}

const formatCommunity = (name: string | null): string =>
  name === null ? 'a community' : `m/${name}`

function formatOwner({ scope, scopeId, name, period }: ChangedBudget): string {
  const adjective = periodLabels[period]
  if (scope === 'hub') return `The hub’s ${adjective} budget`
  if (scope === 'agent') return `The ${adjective} budget of ${name ?? 'an agent'}`
  if (scope === 'community') return `The ${adjective} budget of ${formatCommunity(name)}`
  if (scope === 'requester') return `The ${adjective} budget of a requester`
  if (scope === 'guests') return `The ${adjective} budget of all guests`
  return `The ${adjective} budget of the ${scope} ${scopeId}`
}

function formatScope({ scope, scopeId, name }: ChangedBudget): string {
  if (scope === 'hub') return 'All agents'
  if (scope === 'agent') return name === null ? 'An agent' : formatAgentLink(name)
  if (scope === 'requester') return 'Runs for one account'
  if (scope === 'guests') return 'Runs for guests'
  return scope === 'community'
    ? `Runs in ${formatCommunity(name)}`
    : `\`${scopeId.replaceAll('`', '')}\``
}

function formatSpent(budget: ChangedBudget | UsedUpAccount): string {
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

function formatUsedShare(budget: ChangedBudget): string {
  if (budget.isRefusing) return 'has too little left for a call'
  const share = computeUsedShare(budget)
  return share >= 1 ? 'is used up' : `is ${formatShare(share)} used`
}

const computeUsedShare = (budget: ChangedBudget): number => computeUsedShares(budget)?.used ?? 0
