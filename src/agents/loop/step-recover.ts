import { activationLimits } from '../../shared/config'
import { addCharge } from './charge-state'
import type { Effect } from './effect'
import { endingMessages } from './ending-texts'
import type { LoopEventOf } from './event'
import { isBusy, isStoppable, type LoopState, type Step, withoutEffects } from './state'
import { failActivation } from './step-end'
import { markDone, startCalls } from './step-tools'

/**
 * Resumes after a crash. The pending effects run again unchanged, with two exceptions: a model call
 * whose answer was lost has been charged, and a tool that may have run and must not run twice gets
 * the result "outcome unknown". Three starts without progress end the activation as failed, also
 * during LOAD. Commit and park requests are repeated without a limit.
 * `effects` holds all pending effects, not only new ones.
 */
export function handleInterrupted(state: LoopState, event: LoopEventOf<'interrupted'>): Step {
  if (!isBusy(state)) return withoutEffects(state)
  const starts = state.startsWithoutProgress + 1
  const next = addCharge({ ...state, startsWithoutProgress: starts }, event.charge)
  const canEnd = isStoppable(state) || state.phase === 'loading'
  if (canEnd && starts >= activationLimits.startsWithoutProgress) {
    return failActivation(next, 'INTERRUPTED', endingMessages.interrupted())
  }
  const callIds = event.unknownCallIds
  const kept: LoopState = {
    ...next,
    pending: next.pending
      .filter((effect) => effect.type !== 'call_tool' || !callIds.includes(effect.callId))
      .map(withRenewal),
  }
  if (callIds.length === 0) return { state: kept, effects: kept.pending }
  const { state: moved } = startCalls({ ...kept, calls: markDone(kept.calls, callIds) }, event.at)
  return { state: moved, effects: moved.pending }
}

/** Renews the reservation before the repeated call, since the lost call may have spent it. */
const withRenewal = (effect: Effect): Effect =>
  'mustRenew' in effect ? { ...effect, mustRenew: true } : effect
