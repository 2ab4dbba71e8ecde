import type { BudgetStatus, Environment } from '../../hub/contract'
import type { LoopState } from '../loop/state'

/** How things stand right before a model call. */
export interface Standing {
  state: LoopState
  /** Null until the hub has told. */
  budgets: BudgetStatus[]
  environment: Environment | null
  /** Bytes of the agent's own storage. */
  storageBytes: number
  hubName: string
  now: number
}

/**
 * What changes from step to step, in words, at the very end of the prompt, so that everything
 * before it stays the same from one step to the next and can be cached (L12, L13, L14).
 */
export function statusTail(standing: Standing): string {
  const { state, budgets, environment, now } = standing
  const steps = state.limits.iterations - state.iteration
  const tokens = Math.max(0, state.limits.tokens - state.tokens)
  const seconds = Math.max(0, Math.round((state.endsAt - now) / 1000))
  return [
    '[status]',
    `Time: ${new Date(now).toISOString()}. Left for this task: ${steps} more steps, ${tokens} tokens, ${seconds} s.`,
    ...(environment ? [describeEnvironment(environment)] : []),
    `You run in a Durable Object of ${standing.hubName}; it stores ${Math.ceil(standing.storageBytes / 1024)} KiB.`,
    ...budgets.map(describeBudget),
  ].join('\n')
}

function describeEnvironment({ inboxDepth, runningActivations }: Environment): string {
  const waiting = inboxDepth === 1 ? '1 more task waits' : `${inboxDepth} more tasks wait`
  const working = runningActivations === 1 ? '1 agent works' : `${runningActivations} agents work`
  return `${waiting} in your inbox. On the hub ${working}, you included.`
}

/** From this share of a budget on, work that nobody asked for is paused (B3). */
const throttleShare = 0.9
const warningShare = 0.8

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
