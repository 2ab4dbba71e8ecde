import type { LoopEvent, LoopEventOf } from './event'
import { reason } from './reason'
import { initialState, isBusy, issue, type LoopState, rest, type Step } from './state'
import { afterCommit, retryLater } from './step-commit'
import { afterCompacted } from './step-compact'
import { end } from './step-end'
import { afterLoad, afterLoadFailed } from './step-load'
import { afterAnswer, afterModelFailed, afterModelRefused, afterModelWaited } from './step-model'
import { afterParked, afterResumed, afterToolParked } from './step-park'
import { afterInterruption } from './step-recover'
import { afterTool } from './step-tools'

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
  if (!effect) return rest(state)
  const settled: LoopState = {
    ...state,
    pending: state.pending.filter(({ id }) => id !== event.effectId),
    startsWithoutProgress: 0,
  }
  switch (event.type) {
    case 'loaded':
      return afterLoad(settled, event)
    case 'load_waited':
      return issue(settled, { type: 'sleep', until: event.retryAt })
    case 'load_found_nothing':
      return settled.isWokenAgain
        ? loadAgain(settled)
        : rest({ ...initialState, nextEffectId: settled.nextEffectId })
    case 'load_failed':
      return afterLoadFailed(settled, event)
    case 'model_answered':
      return afterAnswer(settled, event)
    case 'model_failed':
      return afterModelFailed(settled, event)
    case 'model_refused':
      return afterModelRefused(settled, event)
    case 'model_waited':
      return afterModelWaited(settled, event)
    case 'tool_returned':
      return afterTool(settled, event)
    case 'compacted':
      return afterCompacted(settled, event)
    case 'tool_parked':
      return afterToolParked(settled, event)
    case 'parked':
      return afterParked(settled, event)
    case 'slept':
      return handleSlept(settled, event.at)
    case 'committed':
      return afterCommit(settled, event)
    case 'commit_failed':
    case 'park_failed':
      return retryLater(settled, event)
  }
}

type ExternalEvent = LoopEventOf<
  'woken' | 'time_ran_out' | 'cancel_requested' | 'interrupted' | 'resumed'
>

function handleExternal(state: LoopState, event: ExternalEvent): Step {
  switch (event.type) {
    case 'woken':
      return handleWoken(state, event)
    case 'interrupted':
      return afterInterruption(state, event)
    case 'time_ran_out':
      return end(state, 'max_duration', event.charge)
    case 'cancel_requested':
      return end(state, 'cancelled', event.charge)
    case 'resumed':
      return afterResumed(state, event)
  }
}

/**
 * Handles a wake. Idle: loads work. Waiting for capacity: asks the hub again now. Busy: checks the
 * inbox again afterwards.
 */
function handleWoken(state: LoopState, event: LoopEventOf<'woken'>): Step {
  if (!isBusy(state)) {
    return issue(
      {
        ...initialState,
        nextEffectId: state.nextEffectId,
        phase: 'loading',
        activationId: event.activationId,
        startedAt: event.at,
      },
      { type: 'load', ...(event.mayExplore && { mayExplore: true }) },
    )
  }
  const isWaitingToLoad =
    state.phase === 'loading' && state.pending.every(({ type }) => type === 'sleep')
  if (isWaitingToLoad) return issue({ ...state, pending: [] }, { type: 'load' })
  return rest(state.isWokenAgain ? state : { ...state, isWokenAgain: true })
}

/** Loads again: the inbox was empty, but another wake arrived while it was read. */
function loadAgain(state: LoopState): Step {
  return issue({ ...state, isWokenAgain: false }, { type: 'load' })
}

function handleSlept(state: LoopState, at: number): Step {
  if (state.phase === 'loading') return issue(state, { type: 'load' })
  if (state.phase === 'committing') return issue(state, { type: 'commit' })
  if (state.phase === 'parking') return issue(state, { type: 'park' })
  return reason(state, at)
}
