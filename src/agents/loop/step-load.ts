import { activationLimits } from '../../config'
import type { LoopEventOf, Task } from './event'
import { reason } from './reason'
import { issue, type LoopState, type Step } from './state'
import { end, finish, outOfBudget, stopUnclaimed } from './step-end'

/** RECEIVE and CONTEXT are done: reason, or say politely why not (B4). */
export function afterLoad(state: LoopState, { facts, at }: LoopEventOf<'loaded'>): Step {
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
  }
  if (state.isCancelled) return end({ ...loaded, isCancelled: false }, 'cancelled', null)
  if (facts.admission === 'budget_exhausted') {
    return finish(loaded, {
      outcome: 'budget_exhausted',
      error: null,
      reply: 'notice',
      text: outOfBudget,
    })
  }
  if (facts.answer === null && isInThread(facts.task)) {
    return finish(loaded, {
      outcome: 'completed',
      error: null,
      reply: 'silent',
      text: 'The post was deleted before I could read it.',
    })
  }
  if (facts.note !== undefined) {
    return finish(loaded, { outcome: 'completed', error: null, reply: 'notice', text: facts.note })
  }
  if (facts.problem) {
    return finish(loaded, {
      outcome: 'failed',
      error: facts.problem,
      reply: 'notice',
      text: `I could not start: ${facts.problem.message}`,
    })
  }
  return reason(loaded, at)
}

const isInThread = (task: Task): boolean => task === 'mention' || task === 'reply'

/**
 * The hub could not be read, or the definition is broken. A hub that is away is asked again; a
 * broken definition ends the activation with the reason (L17).
 */
export function afterLoadFailed(state: LoopState, event: LoopEventOf<'load_failed'>): Step {
  const errors = state.errors + 1
  if (state.isCancelled) return stopUnclaimed({ ...state, errors })
  if (!event.isHopeless && errors < activationLimits.errors) {
    const wait = Math.min(
      activationLimits.retryCapMs,
      activationLimits.retryBaseMs * 2 ** Math.min(errors, 8),
    )
    return issue({ ...state, errors }, { type: 'sleep', until: event.at + wait })
  }
  return finish(
    { ...state, errors },
    {
      outcome: 'failed',
      error: { code: event.code, message: event.message },
      reply: 'notice',
      text: `I could not start: ${event.message}`,
    },
  )
}
