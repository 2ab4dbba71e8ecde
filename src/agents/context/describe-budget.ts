import type { BudgetStatus } from '../../hub/contract'

/** A budget in words: how much is used, what is left, what is paused (L12). */
export function describeBudget(budget: BudgetStatus): string {
  const { limitMicrousd, limitTokens, period } = budget
  const whose = budget.scope === 'agent' ? 'Your' : `The ${budget.scope}'s`
  const name = `${whose} budget for this ${period}`
  if (limitMicrousd !== null && limitMicrousd > 0) {
    const left = Math.max(0, limitMicrousd - budget.spentMicrousd) / 1e6
    const used = budget.spentMicrousd / limitMicrousd
    return describeShare(budget, name, used, `$${left.toFixed(2)} left`)
  }
  if (limitTokens !== null && limitTokens > 0) {
    const left = Math.max(0, limitTokens - budget.spentTokens)
    return describeShare(budget, name, budget.spentTokens / limitTokens, `${left} tokens left`)
  }
  const isNothing = limitMicrousd === 0 || limitTokens === 0
  return isNothing ? `${name} is 0: nothing may be spent.` : `${name} has no limit.`
}

/** Work that nobody asked for is paused from one share on, all that costs from another (B3). */
function describeShare(
  { warningShare, throttleShare, criticalShare }: BudgetStatus,
  name: string,
  share: number,
  left: string,
): string {
  const text = `${name}: ${Math.round(share * 100)} % used, ${left}.`
  if (share >= criticalShare)
    return `${text} It is used up: all work that costs is paused. Finish now.`
  if (share >= throttleShare) return `${text} Looking around on your own is paused. Be brief.`
  return share >= warningShare ? `${text} Be sparing.` : text
}
