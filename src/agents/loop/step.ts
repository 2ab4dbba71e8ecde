import { scheduling } from '../../shared/config'
import type { LoopEvent, LoopEventOf } from './event'
import { findParking, findWorking } from './program'
import {
  type Effect,
  initialState,
  isBusy,
  type LoopState,
  type Step,
  withEffects,
  withoutEffects,
} from './state'
import {
  handleCommitted,
  handleInterrupted,
  handleLoaded,
  handleLoadFailed,
  handleParked,
  handleResumed,
  handleToolParked,
  retryWithBackoff,
} from './step-activation'
import {
  handleCompacted,
  handleModelAnswered,
  handleModelFailed,
  handleModelRefused,
  handleModelWaited,
  handleSteered,
  handleToolReturned,
} from './step-model'
import { closeProgram, handleClosed, handleProgram } from './step-program'
import { startModelCall, stopActivation, toStopEnding } from './transitions'

/**
 * Returns the next state and effects for one event. All decisions of the agent loop are made here.
 * Pure: it uses no time, randomness or I/O beyond what the event carries. The shell writes the
 * event and the returned state in one transaction and then performs the effects.
 *
 * An event that is the outcome of an effect which is no longer pending changes nothing, so events
 * may arrive late, twice or out of order.
 */
export function step(state: LoopState, event: LoopEvent): Step {
  if (!('effectId' in event)) return handleExternal(state, event)
  const effect = state.pending.find(({ id }) => id === event.effectId)
  if (!effect) return withoutEffects(state)
  const settled = settle(state, effect, event)
  switch (event.type) {
    case 'loaded':
      return handleLoaded(settled, event)
    case 'load_waited':
      return withEffects(settled, { type: 'sleep', until: computeRetryAt(settled, event) })
    case 'load_found_nothing':
      return settled.isWokenAgain
        ? startLoad({ ...settled, isWokenAgain: false })
        : withoutEffects({ ...initialState, nextEffectId: settled.nextEffectId })
    case 'load_failed':
      return handleLoadFailed(settled, event)
    case 'model_answered':
      return handleModelAnswered(settled, event)
    case 'model_failed':
      return handleModelFailed(settled, event)
    case 'model_refused':
      return handleModelRefused(settled, event)
    case 'model_waited':
      return handleModelWaited(settled, event)
    case 'steered':
      return handleSteered(settled, event, effect)
    case 'tool_returned':
      return handleToolReturned(settled, event)
    case 'compacted':
      return handleCompacted(settled, event)
    case 'tool_parked':
      return handleToolParked(settled, event)
    case 'parked':
      return handleParked(settled, event)
    case 'slept':
      return handleSlept(settled, event.at)
    case 'committed':
      return handleCommitted(settled, event)
    case 'program_closed':
      return handleClosed(settled, event)
    case 'nobody_notified':
      return withoutEffects(settled)
    case 'commit_failed':
    case 'park_failed':
      return retryWithBackoff(settled, event)
  }
}

function handleExternal(state: LoopState, event: Exclude<LoopEvent, { effectId: number }>): Step {
  switch (event.type) {
    case 'woken':
      return handleWoken(state, event)
    case 'interrupted':
      return handleInterrupted(state, event)
    case 'time_ran_out':
      return stop(state, 'max_duration', event)
    case 'cancel_requested':
      return stop(state, 'cancelled', event)
    case 'resumed':
      return handleResumed(state, event)
    default:
      return handleProgram(state, event)
  }
}

/**
 * Stops a native run at once, and a program once it has said what it did. One that is ended because its run parks is
 * not ended twice: its run does not park.
 */
function stop(
  state: LoopState,
  outcome: 'max_duration' | 'cancelled',
  { charge, at }: LoopEventOf<'time_ran_out' | 'cancel_requested'>,
): Step {
  const parking = findParking(state)
  if (parking && outcome === 'cancelled') {
    const closing = { ending: toStopEnding(state, outcome), stop: outcome }
    return withoutEffects({ ...state, program: { ...parking, closing } })
  }
  if (!findWorking(state)) return stopActivation(state, outcome, charge)
  return closeProgram(state, toStopEnding(state, outcome), outcome, at)
}

/**
 * Handles a wake. Idle: loads work. Waiting for capacity: asks the hub again now. Busy: checks the
 * inbox again afterwards, and with `maySteer` the run asks for comments before it ends.
 */
function handleWoken(state: LoopState, event: LoopEventOf<'woken'>): Step {
  if (!isBusy(state)) {
    return startLoad({
      ...initialState,
      nextEffectId: state.nextEffectId,
      phase: 'loading',
      activationId: event.activationId,
      startedAt: event.at,
      mayExplore: event.mayExplore === true,
    })
  }
  const mayExplore = state.mayExplore || event.mayExplore === true
  const isWaitingToLoad =
    state.phase === 'loading' && state.pending.every(({ type }) => type === 'sleep')
  if (isWaitingToLoad) return startLoad({ ...state, pending: [], mayExplore })
  const maySteer = state.maySteer || event.maySteer === true
  const isKnown =
    state.isWokenAgain && state.maySteer === maySteer && state.mayExplore === mayExplore
  return withoutEffects(isKnown ? state : { ...state, isWokenAgain: true, maySteer, mayExplore })
}

/** Asks the hub for work, with the offered exploration as long as that is unanswered. */
function startLoad(state: LoopState): Step {
  return withEffects(state, { type: 'load', ...(state.mayExplore && { mayExplore: true }) })
}

/** An answered LOAD answers the offer that it carried, not one that came while it was on its way. */
function settle(state: LoopState, effect: Effect, event: LoopEvent): LoopState {
  const hasAnswered = effect.type === 'load' && effect.mayExplore && event.type !== 'load_failed'
  return {
    ...state,
    pending: state.pending.filter(({ id }) => id !== effect.id),
    mayExplore: state.mayExplore && !hasAnswered,
  }
}

/** Returns when LOAD is repeated: the longer the agent has waited for room, the later. */
function computeRetryAt(
  { startedAt }: LoopState,
  { at, retryAt, reason }: LoopEventOf<'load_waited'>,
): number {
  if (reason !== 'capacity' && reason !== 'money_reserved') return retryAt
  return Math.max(retryAt, at + Math.min(at - startedAt, scheduling.capacityRetryMsMax))
}

function handleSlept(state: LoopState, at: number): Step {
  if (state.phase === 'loading') return startLoad(state)
  if (state.phase === 'committing') return withEffects(state, { type: 'commit' })
  if (state.phase === 'parking') return withEffects(state, { type: 'park' })
  return startModelCall(state, at)
}
