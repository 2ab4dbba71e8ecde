import type { Charge, LoopEvent } from './event'
import type { LoopState } from './state'

/**
 * Adds the charge of a model call to the totals that the limits of the activation are checked
 * against.
 */
export function addCharge(state: LoopState, charge: Charge | null): LoopState {
  if (!charge) return state
  return {
    ...state,
    tokens: state.tokens + charge.inputTokens + charge.outputTokens,
    microusd: state.microusd + charge.microusd,
  }
}

/** Returns the sum of all charges in a journal, also of calls without an answer. */
export function sumCharges(events: LoopEvent[]) {
  const sum = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, costMicrousd: 0 }
  for (const event of events) {
    if (!('charge' in event) || !event.charge) continue
    sum.inputTokens += event.charge.inputTokens
    sum.cachedTokens += event.charge.cachedTokens
    sum.outputTokens += event.charge.outputTokens
    sum.costMicrousd += event.charge.microusd
  }
  return sum
}
