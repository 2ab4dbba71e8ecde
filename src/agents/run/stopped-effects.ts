import type { LoopEvent } from '../loop/event'
import { initialState, type LoopState } from '../loop/state'
import { step } from '../loop/step'

/** The effects that were pending when a person or the time limit stopped the activation. */
export interface StoppedEffects {
  pending: LoopState['pending']
  /** When each running tool call was started, by call id. */
  since: Map<string, number>
}

/**
 * Returns the effects that the event at `index` stopped. The journal holds outcomes only, so the
 * loop is run again up to that event.
 */
export function findStoppedEffects(events: LoopEvent[], index: number): StoppedEffects {
  const since = new Map<string, number>()
  // effect ids continue across activations of an agent; the first outcome belongs to the first
  // effect
  const first = events.find((event) => 'effectId' in event)
  const nextEffectId = first && 'effectId' in first ? first.effectId : initialState.nextEffectId
  let state: LoopState = { ...initialState, nextEffectId }
  for (const event of events.slice(0, index)) {
    const next = step(state, event)
    state = next.state
    for (const effect of next.effects) {
      if (effect.type === 'call_tool') since.set(effect.callId, event.at)
    }
  }
  return { pending: state.pending, since }
}
