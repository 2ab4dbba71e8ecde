import { activationLimits } from '../../config'
import { addCharge } from './charge-state'
import type { LoopEventOf } from './event'
import { type LoopState, rest, type Step } from './state'
import { fail } from './step-end'
import { markDone, startCalls } from './step-tools'

/**
 * After a crash (L36). The pending effects run again as they are, but: a model call whose answer
 * was lost has been charged; a tool that may have run and must not run twice gets the result
 * "outcome unknown". Three starts without progress end it as failed.
 *
 * The effects to run again are those still pending; `effects` holds them all.
 */
export function afterInterruption(state: LoopState, event: LoopEventOf<'interrupted'>): Step {
  if (state.phase === 'idle') return rest(state)
  const starts = state.startsWithoutProgress + 1
  const next = addCharge({ ...state, startsWithoutProgress: starts }, event.charge)
  const mayEnd = state.phase === 'reasoning' || state.phase === 'acting'
  if (mayEnd && starts >= activationLimits.startsWithoutProgress) {
    return fail(next, 'INTERRUPTED', 'The machine stopped several times before I got anywhere.')
  }
  const callIds = event.unknownCallIds
  const kept: LoopState = {
    ...next,
    pending: next.pending
      .filter((effect) => effect.type !== 'call_tool' || !callIds.includes(effect.callId))
      .map((effect) => (effect.type === 'call_model' ? { ...effect, mustRenew: true } : effect)),
  }
  if (callIds.length === 0) return { state: kept, effects: kept.pending }
  const { state: moved } = startCalls({ ...kept, calls: markDone(kept.calls, callIds) }, event.at)
  return { state: moved, effects: moved.pending }
}
