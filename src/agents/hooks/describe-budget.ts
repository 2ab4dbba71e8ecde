import type { BudgetStatus } from '../../hub/contract/hub'

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

/** Explorations pause at the throttle threshold, all paid work at the critical threshold. */
function describeShare(
  { warningShare, throttleShare, criticalShare }: BudgetStatus,
  name: string,
  share: number,
  left: string,
): string {
  const text = `${name}: ${Math.round(share * 100)} % used, ${left}.`
  if (share >= criticalShare) return `${text} It is used up: all paid work is paused. Finish now.`
  if (share >= throttleShare) return `${text} Explorations are paused. Be brief.`
  return share >= warningShare ? `${text} Be sparing.` : text
}
