import { endingTexts } from './ending-texts'
import type { LoopEventOf } from './event'
import { type LoopState, type Step, type StepCall, withoutEffects } from './state'
import { finishActivation, stopActivation } from './step-end'
import { startCalls } from './step-tools'

/**
 * Handles a call that requires approval: the other calls of its step finish, then the activation
 * parks.
 */
export function handleToolParked(state: LoopState, event: LoopEventOf<'tool_parked'>): Step {
  const calls = state.calls.map((call) =>
    call.callId === event.callId ? ({ ...call, status: 'parked' } as const) : call,
  )
  return startCalls({ ...state, calls }, event.at)
}

/**
 * Handles a parked activation. The hub stores it and this state is only a record: the shell sets it
 * aside, and the agent takes other work.
 */
export function handleParked(state: LoopState, event: LoopEventOf<'parked'>): Step {
  if (event.kind === 'lost') {
    return finishActivation(state, {
      outcome: 'cancelled',
      error: null,
      reply: 'silent',
      text: endingTexts.finishedElsewhere(),
    })
  }
  return withoutEffects({
    ...state,
    phase: 'parked',
    endsAt: keepTime(state, event.at),
    settled: { tokens: state.tokens, microusd: state.microusd },
    // the hub resumes a stopped activation at once, so that it ends
    isWokenAgain: state.isWokenAgain || event.hasMore || state.isCancelled,
  })
}

/**
 * Returns the time that a parked activation has left, in milliseconds. After an outage that is at
 * least half of the limit: the attempts to reach the provider took time but did no work.
 */
const keepTime = ({ endsAt, limits, outage }: LoopState, at: number): number =>
  Math.max(0, endsAt - at, outage ? Math.ceil(limits.durationMs / 2) : 0)

/**
 * Resumes a parked activation: approved calls run, denied and expired calls have an error as their
 * result, and the time limit continues from where it stopped. A call without a decision is sent to
 * the gateway again, which has stored the decision.
 */
export function handleResumed(state: LoopState, event: LoopEventOf<'resumed'>): Step {
  if (state.phase !== 'parked' || state.activationId !== event.activationId)
    return withoutEffects(state)
  const next: LoopState = {
    ...state,
    phase: 'acting',
    endsAt: event.at + state.endsAt,
    nextEffectId: Math.max(state.nextEffectId, event.nextEffectId),
    isWokenAgain: false,
    isCancelled: false,
  }
  if (event.isCancelled || state.isCancelled) return stopActivation(next, 'cancelled', null)
  if (event.admission === 'budget_exhausted') {
    return finishActivation(next, {
      outcome: 'budget_exhausted',
      error: null,
      reply: 'partial',
      text: endingTexts.budgetExhausted(),
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
