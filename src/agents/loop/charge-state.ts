import type { Charge } from './event'
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
