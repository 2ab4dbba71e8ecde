import type { Charge, LoopEvent } from './event'
import type { LoopState } from './state'

/** Counts what a model call cost towards the activation's own limits. */
export function addCharge(state: LoopState, charge: Charge | null): LoopState {
  if (!charge) return state
  return {
    ...state,
    tokens: state.tokens + charge.inputTokens + charge.outputTokens,
    microusd: state.microusd + charge.microusd,
  }
}

/** What all calls of a journal were charged, answered or not. */
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
