import type { BudgetStatus } from '../../hub/contract'
import type { LoopState } from '../loop/state'

/**
 * What changes from step to step, in words, at the very end of the prompt, so that everything
 * before it stays the same from one step to the next and can be cached (L12, L13, L14).
 */
export function statusTail(state: LoopState, budgets: BudgetStatus[], now: number): string {
  const steps = state.limits.iterations - state.iteration
  const tokens = Math.max(0, state.limits.tokens - state.tokens)
  const seconds = Math.max(0, Math.round((state.endsAt - now) / 1000))
  let text = `[status]\nTime: ${new Date(now).toISOString()}. Left for this task: ${steps} more steps, ${tokens} tokens, ${seconds} s.`
  for (const budget of budgets) text += `\n${describeBudget(budget)}`
  return text
}

export function describeBudget(budget: BudgetStatus): string {
  const whose = budget.scope === 'hub' ? "The hub's" : 'Your'
  const { limitMicrousd, limitTokens } = budget
  if (limitMicrousd !== null && limitMicrousd > 0) {
    const share = Math.round((budget.spentMicrousd / limitMicrousd) * 100)
    const left = Math.max(0, limitMicrousd - budget.spentMicrousd) / 1e6
    return `${whose} budget for this ${budget.period}: ${share} % used, $${left.toFixed(2)} left.`
  }
  if (limitTokens !== null) {
    const left = Math.max(0, limitTokens - budget.spentTokens)
    return `${whose} budget for this ${budget.period}: ${left} tokens left.`
  }
  return `${whose} budget for this ${budget.period} has no limit.`
}
