import type { BudgetStatus } from '../../hub/contract'

/**
 * A budget in words: how much is used, what is left, what is paused (L12). Of two limits it tells the
 * one that is closer to its end: that one decides what is paused.
 */
export function describeBudget(budget: BudgetStatus): string {
  const { limitMicrousd, limitTokens, period } = budget
  const whose = budget.scope === 'agent' ? 'Your' : `The ${budget.scope}'s`
  const name = `${whose} budget for this ${period}`
  if (limitMicrousd === 0 || limitTokens === 0) return `${name} is 0: nothing may be spent.`
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
