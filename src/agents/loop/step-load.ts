import type { Task } from '../../hub/contract/hub'
import { activationLimits } from '../../shared/config'
import { endingTexts } from './ending-texts'
import type { LoopEventOf } from './event'
import { toProgram } from './program-state'
import { startModelCall } from './start-model-call'
import { type LoopState, type Step, withEffects } from './state'
import { finishActivation, stopActivation, stopUnclaimedActivation } from './step-end'

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
  if (facts.note !== undefined) {
    return finishActivation(loaded, {
      outcome: 'completed',
      error: null,
      reply: 'notice',
      text: facts.note,
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
  return startModelCall(isCompactOnly ? { ...loaded, isCompactOnly } : loaded, at)
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
