import type { BudgetStatus } from '../../hub/contract/hub'
import type { Hook } from './hook'

/** Adds the state of the agent's budgets to the prompt, so that it can be brief when little is left. */
export const budgetAwareness: Hook = {
  name: 'budget-awareness',
  isPure: true,
  beforeModelCall: ({ status }, { budgets }) =>
    budgets.length === 0 ? undefined : { status: [...status, ...budgets.map(describeBudget)] },
}

/** Whose budget it is, where the scope does not say it. */
const ownerLabels: Partial<Record<BudgetStatus['scope'], string>> = {
  agent: 'Your',
  guests: "All guests'",
  'role:member': "The requester's",
  'role:guest': "The requester's",
}

/**
 * Describes a budget for a model: how much is used, what is left, what is paused. With a limit of
 * money and one of tokens, describes the limit with the greater share used, as it decides what is
 * paused.
 */
export function describeBudget(budget: BudgetStatus): string {
  const { limitMicrousd, limitTokens, period } = budget
  const owner = ownerLabels[budget.scope] ?? `The ${budget.scope}'s`
  const name = `${owner} budget for this ${period}`
  if (limitMicrousd === 0 || limitTokens === 0) return `${name} is 0: no spending is allowed.`
  const ofMoney = limitMicrousd === null ? null : budget.spentMicrousd / limitMicrousd
  const ofTokens = limitTokens === null ? null : budget.spentTokens / limitTokens
  if (ofMoney !== null && limitMicrousd !== null && ofMoney >= (ofTokens ?? 0)) {
    const left = Math.max(0, limitMicrousd - budget.spentMicrousd) / 1e6
    return describeShare(budget, name, ofMoney, `$${left.toFixed(2)} left`)
  }
  if (ofTokens !== null && limitTokens !== null) {
    const left = Math.max(0, limitTokens - budget.spentTokens)
    return describeShare(budget, name, ofTokens, `${left} tokens left`)
  }
  return `${name} has no limit.`
}

/** What each level of a budget means for a run. */
const levelAdvice: Record<BudgetStatus['level'], string> = {
  healthy: '',
  warning: ' Be sparing.',
  throttle: ' Explorations are paused. Be brief.',
  critical: ' It is used up: all paid work is paused. Finish now.',
}

const describeShare = (
  { level, isRefusing }: BudgetStatus,
  name: string,
  share: number,
  left: string,
): string =>
  `${name}: ${Math.round(share * 100)} % used, ${left}.${
    isRefusing ? ' Calls that need more are refused. Be brief.' : levelAdvice[level]
  }`

/**
 * The hooks of this deployment, in the order they run. Add yours here (docs/extending.md).
 * Every agent has all hooks except those marked `isOptIn`; `hooks` in its definition changes that.
 */
export const hooks: readonly Hook[] = [budgetAwareness]
