import type { BudgetStatus } from '../../hub/contract'

/** From this share of a budget on, work that nobody asked for is paused (B3). */
const throttleShare = 0.9
const warningShare = 0.8

/** A budget in words: how much is used, what is left, what is paused (L12). */
export function describeBudget(budget: BudgetStatus): string {
  const { limitMicrousd, limitTokens, period } = budget
  const whose = budget.scope === 'agent' ? 'Your' : `The ${budget.scope}'s`
  const name = `${whose} budget for this ${period}`
  if (limitMicrousd !== null && limitMicrousd > 0) {
    const left = Math.max(0, limitMicrousd - budget.spentMicrousd) / 1e6
    return describeShare(name, budget.spentMicrousd / limitMicrousd, `$${left.toFixed(2)} left`)
  }
  if (limitTokens !== null && limitTokens > 0) {
    const left = Math.max(0, limitTokens - budget.spentTokens)
    return describeShare(name, budget.spentTokens / limitTokens, `${left} tokens left`)
  }
  const isNothing = limitMicrousd === 0 || limitTokens === 0
  return isNothing ? `${name} is 0: nothing may be spent.` : `${name} has no limit.`
}

function describeShare(name: string, share: number, left: string): string {
  const text = `${name}: ${Math.round(share * 100)} % used, ${left}.`
  if (share >= 1) return `${text} It is used up: all work that costs is paused. Finish now.`
  if (share >= throttleShare) return `${text} Looking around on your own is paused. Be brief.`
  return share >= warningShare ? `${text} Be sparing.` : text
}
