import { type ActivationErrorCode, activationErrors } from '../../errors'
import { addCharge } from './charge-state'
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
 * Ends the activation: whatever is under way is dropped, and the commit is all that is left. Where
 * nobody asked, nothing is posted (L35).
 */
export function finish(state: LoopState, ending: Ending): Step {
  const isAsked = state.task !== 'exploration' && state.task !== 'scheduled'
  return issue(
    {
      ...state,
      phase: 'committing',
      pending: [],
      calls: [],
      commitFailures: 0,
      ending: isAsked ? ending : { ...ending, reply: 'silent' },
    },
    { type: 'commit' },
  )
}

const notices = {
  max_duration: (state: LoopState) =>
    `I ran out of time after ${Math.round(state.limits.durationMs / 1000)} s. ` +
    'Raise `behavior.max_duration_seconds` in my definition to give me more.',
  cancelled: () => 'I was asked to stop.',
} as const

/** How it ends from outside. */
const endingOf = (state: LoopState, outcome: keyof typeof notices): Ending => ({
  outcome,
  error: null,
  reply: 'partial',
  text: notices[outcome](state),
})

/** For a stop that was remembered: the commit finds out what the hub holds of it (L34). */
export const stopUnclaimed = (state: LoopState): Step =>
  finish({ ...state, isCancelled: false }, endingOf(state, 'cancelled'))

/**
 * Ends it from outside: the wall clock or a person. While the work is being claimed or handed over
 * to wait, what the hub holds of it is not known, so a stop is remembered until it is; once the commit
 * is pending there is nothing left to stop (L34).
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
  return finish(addCharge(state, charge), endingOf(state, outcome))
}

/** Ends it as failed; who asked gets a plain sentence (L35). */
export function fail(state: LoopState, code: ActivationErrorCode, message: string): Step {
  return finish(state, {
    outcome: 'failed',
    error: { code, message },
    reply: 'partial',
    text: `I could not finish: ${message}${activationErrors[code].isRecoverable ? ' Asking me again may help.' : ''}`,
  })
}

/** What is said when money or tokens of a budget are gone (B4). */
export const outOfBudget =
  'I cannot answer now: the budget for this period is used up. An admin can raise it on the ' +
  '[budgets page](/budgets); I am back when the next period begins.'
