import type { LoopEventOf } from './event'
import { type LoopState, rest, type Step, type StepCall } from './state'
import { end, finish, outOfBudget } from './step-end'
import { startCalls } from './step-tools'

/** A person must decide on a call: the others of its step go on, then the activation parks (L30). */
export function afterToolParked(state: LoopState, event: LoopEventOf<'tool_parked'>): Step {
  const calls = state.calls.map((call) =>
    call.callId === event.callId ? ({ ...call, status: 'parked' } as const) : call,
  )
  return startCalls({ ...state, calls }, event.at)
}

/**
 * The hub keeps the activation's place. What is left here is a record: the shell sets it aside, and
 * the agent looks for other work.
 */
export function afterParked(state: LoopState, event: LoopEventOf<'parked'>): Step {
  if (event.kind === 'lost') {
    return finish(state, {
      outcome: 'cancelled',
      error: null,
      reply: 'silent',
      text: 'Somebody else finished this.',
    })
  }
  return rest({
    ...state,
    phase: 'parked',
    endsAt: Math.max(0, state.endsAt - event.at),
    settled: { tokens: state.tokens, microusd: state.microusd },
    // the hub lets what was stopped run again at once, to end
    isWokenAgain: state.isWokenAgain || event.hasMore || state.isCancelled,
  })
}

/**
 * Everything is decided: approved calls run as they would have, the others have their result, and the
 * clock goes on where it stopped. A call without a decision is called again: the gateway knows.
 */
export function afterResumed(state: LoopState, event: LoopEventOf<'resumed'>): Step {
  if (state.phase !== 'parked' || state.activationId !== event.activationId) return rest(state)
  const next: LoopState = {
    ...state,
    phase: 'acting',
    endsAt: event.at + state.endsAt,
    nextEffectId: Math.max(state.nextEffectId, event.nextEffectId),
    startsWithoutProgress: 0,
    isWokenAgain: false,
    isCancelled: false,
  }
  if (event.isCancelled || state.isCancelled) return end(next, 'cancelled', null)
  if (event.admission === 'budget_exhausted') {
    return finish(next, {
      outcome: 'budget_exhausted',
      error: null,
      reply: 'partial',
      text: outOfBudget,
    })
  }
  const isRefused = ({ callId }: StepCall) =>
    event.decisions.some((each) => each.callId === callId && each.decision !== 'approved')
  const calls = next.calls.map((call): StepCall => {
    if (call.status !== 'parked') return call
    return { ...call, status: isRefused(call) ? 'done' : 'todo' }
  })
  return startCalls({ ...next, calls }, event.at)
}
