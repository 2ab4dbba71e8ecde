import { activationLimits, limits } from '../../config'
import { admitCalls } from './admit-calls'
import { addCharge } from './charge-state'
import { isNearlyFull } from './compaction'
import type { Charge, LoopEventOf } from './event'
import { isCut, isUnexplained } from './read-answer'
import { raiseTokens, reason } from './reason'
import { type Ending, issue, type LoopState, type Step } from './state'
import { fail, finish, outOfBudget } from './step-end'
import { runCalls } from './step-tools'

const answered: Ending = { outcome: 'completed', error: null, reply: 'answer', text: '' }
const passed: Ending = { ...answered, reply: 'silent', text: 'There was nothing to say.' }

/** What an answer means (L23): calls run, text ends, nothing at all is asked for once more. */
export function afterAnswer(state: LoopState, event: LoopEventOf<'model_answered'>): Step {
  const { answer } = event
  const next = measure(state, event)
  if (answer.finish === 'content-filter') {
    return finish(next, {
      outcome: 'content_filtered',
      error: { code: 'CONTENT_FILTERED', message: 'The model provider filtered the answer.' },
      reply: 'notice',
      text: 'The model provider filtered my answer, so I have none to give.',
    })
  }
  if (answer.finish === 'error') {
    return fail(next, 'PROVIDER_ERROR', 'The model provider ended the answer with an error.')
  }
  if (answer.calls.length > 0 && isUnexplained(answer.finish)) {
    return fail(next, 'PROVIDER_ERROR', unexplainedEnd)
  }
  if (answer.calls.length > 0) {
    const admitted = admitCalls(answer, state)
    return runCalls({ ...next, emptyAnswers: 0, cutChars: 0 }, admitted, event)
  }
  if (isCut(answer)) return continueAnswer(next, event)
  if (answer.text.trim() === '') return afterEmptyAnswer(next, event)
  const isPass = state.task === 'exploration' && passPattern.test(answer.text.trim())
  return finish(next, isPass ? passed : answered)
}

const unexplainedEnd =
  'The model provider ended the answer for no reason that I know, so the calls in it were not run.'

/** An agent that looks around may decline with this word (L7). */
const passPattern = /^[\p{P}\p{S}\s]*pass[\p{P}\p{S}\s]*$/iu

/**
 * Counts what the call cost and how long the prompt now is: what the provider counted and what it
 * answered (L18). An answer that the window cut short asks for a compaction (L21).
 */
function measure(state: LoopState, { answer, charge }: LoopEventOf<'model_answered'>): LoopState {
  const said = charge.outputTokens - (answer.providerParts ? 0 : charge.reasoningTokens)
  const isAlone = answer.calls.length === 0 && answer.finish !== 'length'
  return {
    ...addCharge(state, charge),
    retries: 0,
    promptTokens: charge.inputTokens + Math.max(0, said),
    entries: state.entries + (isAlone ? 1 : 2),
    mustCompact:
      answer.finish === 'length' &&
      isNearlyFull({ promptTokens: charge.inputTokens, limits: state.limits }),
  }
}

/** The text goes on in a further call, up to what a comment holds (L21). */
function continueAnswer(state: LoopState, { answer, at }: LoopEventOf<'model_answered'>): Step {
  const cutChars = state.cutChars + answer.text.length
  if (cutChars >= limits.comment.contentCharsMax) return finish(state, answered)
  return reason({ ...state, cutChars, emptyAnswers: 0 }, at)
}

/** Nothing at all: the end of a cut answer, of a look around, or trouble (L26). */
function afterEmptyAnswer(
  state: LoopState,
  { answer, charge, at }: LoopEventOf<'model_answered'>,
): Step {
  if (state.cutChars > 0) return finish(state, answered)
  const isCutOff = answer.finish === 'length'
  const isLookingAround = state.task === 'exploration' && state.callIds.length > 0
  if (isLookingAround && !isCutOff) return finish(state, passed)
  // it is the window's doing for as long as a compaction may help, and then told as such (L21)
  if (state.emptyAnswers > 0 && !state.mustCompact) {
    const message = isCutOff ? sayCapUsedUp(charge) : 'The model answered nothing, twice.'
    return fail(state, 'EMPTY_RESPONSE', message)
  }
  return reason({ ...state, emptyAnswers: 1 }, at)
}

/** Who thinks longer than an answer may be comes to no word; only people can raise that. */
const sayCapUsedUp = ({ outputTokens }: Charge): string =>
  `The model's answer reached its length limit before a single word, after ${outputTokens} tokens; ` +
  "a model's thinking counts too. Raise `brain.max_tokens` in the agent's definition, or choose a " +
  'model that thinks less or may answer longer.'

/** Transient failures are retried with backoff and jitter, at most three times (L24). */
export function afterModelFailed(state: LoopState, event: LoopEventOf<'model_failed'>): Step {
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
  if (!canRetry) return fail(next, failure.code, failure.message)
  const { retryBaseMs, retryCapMs } = activationLimits
  const backoff = Math.min(retryCapMs, retryBaseMs * 2 ** state.retries) * (0.5 + jitter / 2)
  const wait = Math.min(retryCapMs, Math.max(backoff, failure.retryAfterMs ?? 0))
  return waitUntil(next, at + Math.round(wait))
}

/** When the clock runs out before that, it ends then: there is nothing to wait for (L8). */
const waitUntil = (state: LoopState, time: number): Step =>
  issue(state, { type: 'sleep', until: Math.min(time, state.endsAt) })

/** The call was not made: the step it began, unless it was a retry, is not taken yet (L8). */
export function afterModelWaited(state: LoopState, event: LoopEventOf<'model_waited'>): Step {
  const iteration = state.retries > 0 ? state.iteration : state.iteration - 1
  return waitUntil({ ...state, iteration }, event.retryAt)
}

export function afterModelRefused(state: LoopState, event: LoopEventOf<'model_refused'>): Step {
  if (event.reason === 'budget_exhausted') {
    return finish(state, {
      outcome: 'budget_exhausted',
      error: null,
      reply: 'partial',
      text: outOfBudget,
    })
  }
  if (event.reason === 'max_tokens') {
    return finish(state, {
      outcome: 'max_tokens',
      error: null,
      reply: 'partial',
      text: `I used ${state.tokens} tokens, which is all I have for one task. ${raiseTokens}`,
    })
  }
  if (event.reason === 'paused') {
    return finish(state, {
      outcome: 'cancelled',
      error: null,
      reply: 'partial',
      text: 'An admin paused me, so I stopped here.',
    })
  }
  return finish(state, {
    outcome: 'cancelled',
    error: null,
    reply: 'silent',
    text: 'Somebody else finished this.',
  })
}
