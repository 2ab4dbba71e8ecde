import { activationLimits } from '../../config'
import { admitCalls } from './admit-calls'
import { addCharge } from './charge-state'
import type { LoopEventOf } from './event'
import { reason } from './reason'
import { issue, type LoopState, type Step } from './state'
import { fail, finish, outOfBudget } from './step-end'
import { runCalls } from './step-tools'

/** What an answer means (L23): calls run, text ends, nothing at all is asked for once more. */
export function afterAnswer(state: LoopState, event: LoopEventOf<'model_answered'>): Step {
  const { answer } = event
  const next: LoopState = { ...addCharge(state, event.charge), retries: 0 }
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
  if (answer.calls.length > 0) {
    const admitted = admitCalls(answer.calls, state.callIds, answer.finish === 'length')
    return runCalls({ ...next, emptyAnswers: 0 }, admitted, event)
  }
  if (answer.text.trim() !== '') {
    return finish(next, { outcome: 'completed', error: null, reply: 'answer', text: '' })
  }
  if (next.emptyAnswers > 0)
    return fail(next, 'EMPTY_RESPONSE', 'The model answered nothing, twice.')
  return reason({ ...next, emptyAnswers: 1 }, event.at)
}

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
  return issue(next, { type: 'sleep', until: at + Math.round(wait) })
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
