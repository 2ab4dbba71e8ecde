import type { Task } from '../../hub/contract/hub'
import { activationLimits } from '../../shared/config'
import { endingMessages, endingTexts } from './ending-texts'
import type { LoopEventOf } from './event'
import {
  type Effect,
  initialState,
  isBusy,
  type LoopState,
  type Step,
  type StepCall,
  toProgram,
  withEffects,
  withoutEffects,
} from './state'
import { markDone, startCalls } from './step-model'
import {
  addCharge,
  finishActivation,
  startModelCall,
  stopActivation,
  stopUnclaimedActivation,
} from './transitions'

/** Continues after LOAD: starts the first model call, or ends with the reason why there is none. */
export function handleLoaded(state: LoopState, { facts, at }: LoopEventOf<'loaded'>): Step {
  const loaded: LoopState = {
    ...state,
    phase: 'reasoning',
    task: facts.task,
    startedAt: at,
    endsAt: at + facts.limits.durationMs,
    limits: facts.limits,
    promptTokens: facts.promptTokens,
    entries: facts.prompt.length - facts.historyFrom,
    isWokenAgain: false,
    program: facts.program ? toProgram(facts.program) : null,
  }
  if (state.isCancelled) return stopActivation({ ...loaded, isCancelled: false }, 'cancelled', null)
  if (facts.admission === 'budget_exhausted') {
    return finishActivation(loaded, {
      outcome: 'budget_exhausted',
      error: null,
      reply: 'notice',
      text: endingTexts.budgetExhausted(facts.shortage),
    })
  }
  if (facts.answer === null && isInThread(facts.task)) {
    return finishActivation(loaded, {
      outcome: 'completed',
      error: null,
      reply: 'silent',
      text: endingTexts.postDeleted(),
    })
  }
  if (facts.problem) {
    return finishActivation(loaded, {
      outcome: 'failed',
      error: facts.problem,
      reply: 'notice',
      text: endingTexts.notStarted(facts.problem.message),
    })
  }
  if (facts.compact === 'denied') {
    return finishActivation(loaded, {
      outcome: 'completed',
      error: null,
      reply: 'notice',
      text: endingTexts.compactDenied(),
    })
  }
  const isCompactOnly = facts.compact === 'allowed' && !facts.program
  return startModelCall({ ...loaded, isCompactOnly }, at)
}

const isInThread = (task: Task): boolean => task === 'mention' || task === 'reply'

/**
 * Continues after a failed LOAD: retries with backoff when the hub was unreachable, and ends as
 * failed when a retry cannot help or the error limit is reached.
 */
export function handleLoadFailed(state: LoopState, event: LoopEventOf<'load_failed'>): Step {
  const errors = state.errors + 1
  if (state.isCancelled) return stopUnclaimedActivation({ ...state, errors })
  if (!event.isHopeless && errors < activationLimits.errors) {
    const wait = Math.min(
      activationLimits.retryCapMs,
      activationLimits.retryBaseMs * 2 ** Math.min(errors, 8),
    )
    return withEffects({ ...state, errors }, { type: 'sleep', until: event.at + wait })
  }
  return finishActivation(
    { ...state, errors },
    {
      outcome: 'failed',
      error: { code: event.code, message: event.message },
      reply: 'notice',
      text: endingTexts.notStarted(event.message),
    },
  )
}

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
    mayExplore: false,
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

/**
 * Returns to idle after the commit. When the inbox has more, the shell wakes the loop again with a
 * new activation id. The same happens when LOAD was given up and had claimed nothing: the hub may
 * have answered with parked work, which would otherwise never resume.
 */
export function handleCommitted(state: LoopState, event: LoopEventOf<'committed'>): Step {
  const wasGivenUp = state.task === null && state.ending?.error?.code === 'INTERRUPTED'
  const mayHaveResumed = wasGivenUp && event.kind === 'lost'
  return withoutEffects({
    ...initialState,
    nextEffectId: state.nextEffectId,
    isWokenAgain: state.isWokenAgain || event.hasMore || mayHaveResumed,
  })
}

/** Retries a commit or park request with exponential backoff, without a limit on attempts. */
export function retryWithBackoff(
  state: LoopState,
  event: LoopEventOf<'commit_failed' | 'park_failed'>,
): Step {
  const { retryBaseMs, retryCapMs } = activationLimits
  const wait = Math.min(retryCapMs, retryBaseMs * 2 ** Math.min(state.commitFailures, 8))
  return withEffects(
    { ...state, commitFailures: state.commitFailures + 1 },
    { type: 'sleep', until: event.at + Math.round(wait * (0.5 + event.jitter / 2)) },
  )
}
