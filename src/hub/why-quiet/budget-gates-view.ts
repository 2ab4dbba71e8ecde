import { formatCount, formatExact, formatMoney, formatPlural } from '../../shared/format'
import type { PayingBudget } from '../activations/admission-queries'
import { periodLabels } from '../budgets/budget-labels'
import { budgetGates, type GateKey } from './gate-labels'
import { closed, type GateContext, type Made, open } from './gate-view'

/** Returns the gate of one kind of budget; null when no budget of that kind pays. */
export function makeBudgetGate(context: GateContext, key: GateKey): Made | null {
  const { admission, budgets } = context.facts
  const own = budgets.filter(({ scope }) => budgetGates[scope] === key)
  if (key === 'hub_budget' && budgets.length === 0) {
    return closed('No budget pays for it.', 'An admin can create one.', '/budgets')
  }
  if (own.length === 0) return null
  const short = admission?.isExhausted ? own.filter(({ isShort }) => isShort) : []
  const facts = (short.length > 0 ? short : own).map((each) => formatUse(each, context)).join(' ')
  return short.length > 0
    ? closed(
        facts,
        'An admin can raise the limit. Otherwise it continues after the reset.',
        '/budgets',
      )
    : open(facts, '/budgets')
}

/** Whether the viewer may see amounts: those of one account, also of the budget of its role, are its own. */
function canSeeAmounts({ scope, scopeId }: PayingBudget, { viewer, facts }: GateContext): boolean {
  if (viewer?.isAdmin) return true
  if (scope === 'requester') return viewer?.id === scopeId
  if (scope !== 'role:member' && scope !== 'role:guest') return true
  const requesters = facts.item?.requesters ?? []
  return requesters.length === 1 && requesters[0] === viewer?.id
}

const centMicrousd = 10_000

/** Formats an amount of a budget; precisely when the whole budget is about a cent or less. */
function formatAmount(microusd: number, limitMicrousd: number): string {
  if (limitMicrousd > centMicrousd) return formatMoney(microusd, 'budget')
  return microusd === 0 ? '$0' : formatMoney(microusd, 'trace')
}

/** Formats what of a budget is used; without amounts for those who may not see them. */
function formatUse(budget: PayingBudget, context: GateContext): string {
  const { period, name, endsAt } = budget
  const isVisible = canSeeAmounts(budget, context)
  const what = `The ${periodLabels[period]} budget${name === null ? '' : ` of ${name}`}`
  const reset =
    endsAt === null ? ' Its period begins in a moment.' : ` It resets on ${formatExact(endsAt)}.`
  if (!isVisible) return `${what} ${budget.isShort ? 'is used up' : 'has money left'}.${reset}`
  const parts = [
    budget.limitMicrousd === null
      ? null
      : `${formatAmount(budget.spentMicrousd, budget.limitMicrousd)} of ${formatAmount(budget.limitMicrousd, budget.limitMicrousd)}`,
    budget.limitTokens === null
      ? null
      : `${formatCount(budget.spentTokens)} of ${formatPlural(budget.limitTokens, 'token', 'tokens')}`,
  ].filter((part) => part !== null)
  return parts.length === 0
    ? `${what} has no limit.`
    : `${what} has spent ${parts.join(' and ')}.${reset}`
}
