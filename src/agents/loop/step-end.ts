import { type ActivationErrorCode, activationErrors } from '../../shared/errors'
import { addCharge } from './charge-state'
import { endingTexts } from './ending-texts'
import type { Charge } from './event'
import {
  type Ending,
  isStopDeferred,
  isStoppable,
  type LoopState,
  type Step,
  withEffects,
  withoutEffects,
} from './state'

/** The ending with the last answer. */
export const answered: Ending = { outcome: 'completed', error: null, reply: 'answer', text: '' }

/**
 * Ends the activation: drops all pending effects and issues the commit. Explorations and schedules
 * have no requester, so they post nothing.
 */
export function finishActivation(state: LoopState, ending: Ending): Step {
  const hasRequester = state.task !== 'exploration' && state.task !== 'scheduled'
  return withEffects(
    {
      ...state,
      phase: 'committing',
      pending: [],
      calls: [],
      commitFailures: 0,
      ending: hasRequester ? ending : { ...ending, reply: 'silent' },
    },
    { type: 'commit' },
  )
}

/** Returns the ending for a time limit or a stop. */
export const toStopEnding = (state: LoopState, outcome: 'max_duration' | 'cancelled'): Ending => ({
  outcome,
  error: null,
  reply: 'partial',
  text:
    outcome === 'cancelled'
      ? endingTexts.cancelled()
      : endingTexts.timedOutAfter(state.limits.durationMs),
})

/**
 * Ends an activation that was stopped while LOAD kept failing. The commit finds out whether the hub
 * had claimed anything for it.
 */
export const stopUnclaimedActivation = (state: LoopState): Step =>
  finishActivation({ ...state, isCancelled: false }, toStopEnding(state, 'cancelled'))

/**
 * Ends the activation because of the time limit or a person. A stop while the work is being claimed
 * or parked is deferred until the hub has answered, since only then it is known what the hub holds.
 * Once the commit is pending there is nothing left to stop.
 */
export function stopActivation(
  state: LoopState,
  outcome: 'max_duration' | 'cancelled',
  charge: Charge | null,
): Step {
  if (isStopDeferred(state) && outcome === 'cancelled') {
    return withoutEffects(state.isCancelled ? state : { ...state, isCancelled: true })
  }
  if (!isStoppable(state)) return withoutEffects(state)
  return finishActivation(addCharge(state, charge), toStopEnding(state, outcome))
}

/** Ends the activation as failed; the requester gets a short message. */
export function failActivation(
  state: LoopState,
  code: ActivationErrorCode,
  message: string,
  isPermanent = false,
): Step {
  return finishActivation(state, {
    outcome: 'failed',
    error: { code, message },
    reply: 'partial',
    text: endingTexts.failed(message, !isPermanent && activationErrors[code].isRecoverable),
  })
}
