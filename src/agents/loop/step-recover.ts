import { addCharge } from './charge-state'
import type { Effect } from './effect'
import { endingMessages, endingTexts } from './ending-texts'
import type { LoopEventOf } from './event'
import { isBusy, type LoopState, type Step, withoutEffects } from './state'
import { finishActivation } from './step-end'
import { markDone, startCalls } from './step-tools'

/**
 * Resumes after a crash. The pending effects run again unchanged, with two exceptions: a model call
 * whose answer was lost has been charged, and a tool that may have run and must not run twice gets
 * the result "outcome unknown". A run that is set aside ends instead, whatever it was doing.
 * `effects` holds all pending effects, not only new ones.
 */
export function handleInterrupted(state: LoopState, event: LoopEventOf<'interrupted'>): Step {
  if (!isBusy(state)) return withoutEffects(state)
  const next = addCharge(state, event.charge)
  if (event.isSetAside) return setAside(next)
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

/**
 * Ends a run that is set aside, with a notice to its requester and without its texts. When that took the process down,
 * too, the run ends without the notice, for which the hub is asked what the run has claimed.
 */
function setAside(state: LoopState): Step {
  const message = endingMessages.setAside(state.phase)
  const notice = { reply: 'notice', text: endingTexts.failed(message, true) } as const
  return finishActivation(
    { ...state, isCancelled: false },
    {
      ...notice,
      outcome: 'failed',
      error: { code: 'INTERRUPTED', message },
      isBare: true,
      ...(state.ending?.isBare && { ...state.ending, reply: 'silent' }),
    },
  )
}

/** Renews the reservation before the repeated call, since the lost call may have spent it. */
const withRenewal = (effect: Effect): Effect =>
  'mustRenew' in effect ? { ...effect, mustRenew: true } : effect
