import { activationLimits, compaction, limits } from '../../shared/config'
import { admitCalls } from './admit-calls'
import { isTruncated, isUnknownEnd } from './answer-end'
import { addCharge } from './charge-state'
import { isWindowNearlyFull } from './compaction'
import { endingMessages, endingTexts } from './ending-texts'
import type { LoopEventOf } from './event'
import type { Outage } from './message'
import { startModelCall } from './start-model-call'
import { type Ending, type LoopState, type Step, withEffects } from './state'
import { answered, failActivation, finishActivation } from './step-end'
import { steerOrFinish } from './step-steer'
import { runCalls } from './step-tools'

const passed: Ending = { ...answered, reply: 'silent', text: endingTexts.nothingToSay() }

/** Handles an answer: runs its calls, ends with its text, or retries once when it is empty. */
export function handleModelAnswered(state: LoopState, event: LoopEventOf<'model_answered'>): Step {
  const { answer } = event
  const next = addAnswer(state, event)
  if (answer.finish === 'content-filter') {
    return finishActivation(next, {
      outcome: 'content_filtered',
      error: { code: 'CONTENT_FILTERED', message: endingMessages.contentFiltered() },
      reply: 'notice',
      text: endingTexts.contentFiltered(),
    })
  }
  if (answer.finish === 'error') {
    return failActivation(next, 'PROVIDER_ERROR', endingMessages.endedWithError())
  }
  if (answer.calls.length > 0 && isUnknownEnd(answer.finish)) {
    return failActivation(next, 'PROVIDER_ERROR', endingMessages.endedWithoutReason())
  }
  if (answer.calls.length > 0) {
    const admitted = admitCalls(answer, state)
    return runCalls({ ...next, emptyAnswers: 0, cutChars: 0 }, admitted, event)
  }
  if (isTruncated(answer)) return continueAnswer(next, event)
  if (answer.text.trim() === '') return afterEmptyAnswer(next, event)
  const isPass = state.task === 'exploration' && passPattern.test(answer.text.trim())
  return isPass ? finishActivation(next, passed) : steerOrFinish(next, event.at)
}

/** Matches the word with which an exploring agent declines to post. */
const passPattern = /^[\p{P}\p{S}\s]*pass[\p{P}\p{S}\s]*$/iu

/**
 * Adds the cost of the call and the new size of the prompt, as counted by the provider. An answer
 * that the context window truncated requires a compaction.
 */
function addAnswer(state: LoopState, { answer, charge }: LoopEventOf<'model_answered'>): LoopState {
  const answerTokens = charge.outputTokens - (answer.providerParts ? 0 : charge.reasoningTokens)
  const addsOneEntry = answer.calls.length === 0 && answer.finish !== 'length'
  return {
    ...addCharge(state, charge),
    retries: 0,
    outage: null,
    promptTokens: charge.inputTokens + Math.max(0, answerTokens),
    entries: state.entries + (addsOneEntry ? 1 : 2),
    mustCompact:
      answer.finish === 'length' &&
      isWindowNearlyFull({ promptTokens: charge.inputTokens, limits: state.limits }),
  }
}

/** Continues a truncated text in a further call, up to the length limit of a comment. */
function continueAnswer(state: LoopState, { answer, at }: LoopEventOf<'model_answered'>): Step {
  const cutChars = state.cutChars + answer.text.length
  if (cutChars >= limits.comment.contentCharsMax) return finishActivation(state, answered)
  return startModelCall({ ...state, cutChars, emptyAnswers: 0 }, at)
}

/**
 * Handles an empty answer: the end of a truncated answer or of an exploration, else retried once
 * and then an error.
 */
function afterEmptyAnswer(
  state: LoopState,
  { answer, charge, at }: LoopEventOf<'model_answered'>,
): Step {
  if (state.cutChars > 0) return finishActivation(state, answered)
  const hasReachedLimit = answer.finish === 'length'
  const hasExplored = state.task === 'exploration' && state.callIds.length > 0
  if (hasExplored && !hasReachedLimit) return finishActivation(state, passed)
  // while a compaction may help, the full context window is the cause, not the empty answer
  if (state.emptyAnswers > 0 && !state.mustCompact) {
    const message = hasReachedLimit
      ? endingMessages.outputLimit(charge.outputTokens)
      : endingMessages.emptyAnswers()
    return failActivation(state, 'EMPTY_RESPONSE', message)
  }
  return startModelCall({ ...state, emptyAnswers: 1 }, at)
}

/**
 * Compacts a conversation that the provider finds too long, and repeats the call. Retries a transient failure with
 * exponential backoff and jitter, at most three times. When the
 * provider is down, the activation then parks until the provider is back; on the attempt that finds
 * that out, it parks again at once.
 */
export function handleModelFailed(state: LoopState, event: LoopEventOf<'model_failed'>): Step {
  const { failure, at, jitter } = event
  const next: LoopState = {
    ...addCharge(state, event.charge),
    errors: state.errors + 1,
    retries: state.retries + 1,
  }
  const canRetry =
    failure.isRetryable &&
    next.retries <= activationLimits.retries &&
    next.errors < activationLimits.errors
  if (failure.isTooLong && state.compactions < compaction.attempts) {
    return startModelCall({ ...next, outage: null, mustCompact: true }, at)
  }
  const { outage } = failure
  if (outage && (!canRetry || state.outage)) return parkForOutage(next, outage)
  if (!canRetry) {
    return failActivation(
      { ...next, outage: null },
      failure.code,
      failure.message,
      failure.isPermanent,
    )
  }
  const { retryBaseMs, retryCapMs } = activationLimits
  const backoff = Math.min(retryCapMs, retryBaseMs * 2 ** state.retries) * (0.5 + jitter / 2)
  const wait = Math.min(retryCapMs, Math.max(backoff, failure.retryAfterMs ?? 0))
  if (outage && at + wait >= state.endsAt) return parkForOutage(next, outage)
  return waitUntil({ ...next, outage: null }, at + Math.round(wait))
}

/** Parks until the provider is back. The call was not served, so neither step nor errors count. */
const parkForOutage = (state: LoopState, outage: Outage): Step =>
  withEffects(
    {
      ...state,
      phase: 'parking',
      outage: { ...outage, parks: (state.outage?.parks ?? 0) + 1 },
      calls: [],
      iteration: state.iteration - 1,
      errors: state.errors - state.retries,
      retries: 0,
      commitFailures: 0,
    },
    { type: 'park' },
  )

/** Waits until a time, but not past the time limit of the activation, which then ends. */
const waitUntil = (state: LoopState, time: number): Step =>
  withEffects(state, { type: 'sleep', until: Math.min(time, state.endsAt) })

/**
 * Waits for money. The call was not made, so the step it started does not count, unless it was a
 * retry.
 */
export function handleModelWaited(state: LoopState, event: LoopEventOf<'model_waited'>): Step {
  return waitUntil(uncountStep(state), event.retryAt)
}

const uncountStep = (state: LoopState): LoopState =>
  state.retries > 0 ? state : { ...state, iteration: state.iteration - 1 }

/** Ends the activation when the hub refuses a further model call, which then does not count. */
export function handleModelRefused(refused: LoopState, event: LoopEventOf<'model_refused'>): Step {
  const state = refused.phase === 'reasoning' ? uncountStep(refused) : refused
  if (event.reason === 'budget_exhausted') {
    return finishActivation(state, {
      outcome: 'budget_exhausted',
      error: null,
      reply: 'partial',
      text: endingTexts.budgetExhausted(event.shortage),
    })
  }
  if (event.reason === 'max_tokens') {
    return finishActivation(state, {
      outcome: 'max_tokens',
      error: null,
      reply: 'partial',
      text: endingTexts.tokensUsedUp(state.tokens),
    })
  }
  if (event.reason === 'paused') {
    return finishActivation(state, {
      outcome: 'cancelled',
      error: null,
      reply: 'partial',
      text: endingTexts.paused(),
    })
  }
  return finishActivation(state, {
    outcome: 'cancelled',
    error: null,
    reply: 'silent',
    text: endingTexts.finishedElsewhere(),
  })
}
