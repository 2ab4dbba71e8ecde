import type { LoopEvent } from '../loop/event'
import { initialState, type LoopState } from '../loop/state'
import { step } from '../loop/step'

/** What was under way when a person or the clock ended it. */
export interface CutOff {
  pending: LoopState['pending']
  /** When each tool call that was running had got its slot. */
  since: Map<string, number>
}

/** Whether an event ends what is under way without an outcome. */
export const isCutOff = ({ type }: LoopEvent): boolean =>
  type === 'cancel_requested' || type === 'time_ran_out'

/** The journal tells outcomes; what had none is known to the loop alone, so it decides once more. */
export function findCutOff(events: LoopEvent[], index: number): CutOff {
  const since = new Map<string, number>()
  // ids go on from one activation of an agent to the next; the first outcome is that of the first effect
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
