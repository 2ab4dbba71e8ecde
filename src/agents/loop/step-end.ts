import { type ActivationErrorCode, activationErrors } from '../../errors'
import { addCharge } from './charge-state'
import { endingTexts } from './ending-texts'
import type { Charge } from './event'
import {
  type Ending,
  issue,
  isWorking,
  type LoopState,
  remembersStop,
  rest,
  type Step,
} from './state'

/**
 * Ends the activation: drops all pending effects and issues the commit. Explorations and schedules
 * have no requester, so they post nothing.
 */
export function finish(state: LoopState, ending: Ending): Step {
  const hasRequester = state.task !== 'exploration' && state.task !== 'scheduled'
  return issue(
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
const toStopEnding = (state: LoopState, outcome: 'max_duration' | 'cancelled'): Ending => ({
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
export const stopUnclaimed = (state: LoopState): Step =>
  finish({ ...state, isCancelled: false }, toStopEnding(state, 'cancelled'))

/**
 * Ends the activation because of the time limit or a person. A stop while the work is being claimed
 * or parked is deferred until the hub has answered, since only then it is known what the hub holds.
 * Once the commit is pending there is nothing left to stop.
 */
export function end(
  state: LoopState,
  outcome: 'max_duration' | 'cancelled',
  charge: Charge | null,
): Step {
  if (remembersStop(state) && outcome === 'cancelled') {
    return rest(state.isCancelled ? state : { ...state, isCancelled: true })
  }
  if (!isWorking(state)) return rest(state)
  return finish(addCharge(state, charge), toStopEnding(state, outcome))
}

/** Ends the activation as failed; the requester gets a short message. */
export function fail(state: LoopState, code: ActivationErrorCode, message: string): Step {
  return finish(state, {
    outcome: 'failed',
    error: { code, message },
    reply: 'partial',
    text: endingTexts.failed(message, activationErrors[code].isRecoverable),
  })
}
