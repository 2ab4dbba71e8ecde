import { activationLimits, compaction, limits } from '../../shared/config'
import { type AdmittedCall, admitCalls } from './admit-calls'
import { isWindowNearlyFull } from './compaction'
import { endingMessages, endingTexts } from './ending-texts'
import type { LoopEventOf } from './event'
import {
  estimateTokensOfChars,
  isTruncated,
  isUnknownEnd,
  type ModelFailure,
  type Outage,
} from './message'
import { isPass } from './reply'
import {
  type Effect,
  type Ending,
  type LoopState,
  type Step,
  type StepCall,
  withEffects,
} from './state'
import {
  addCharge,
  answered,
  canCallModel,
  failActivation,
  finishActivation,
  startModelCall,
} from './transitions'

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
  return mayPass(state) && isPass(answer.text)
    ? finishActivation(next, passed)
    : steerOrFinish(next, event.at)
}

/** Whether nobody waits for an answer, so that the agent may say nothing. */
const mayPass = ({ task }: LoopState): boolean => task === 'exploration' || task === 'scheduled'

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
 * Handles an empty answer: the end of a truncated answer or of a run that nobody waits for, else retried once
 * and then an error.
 */
function afterEmptyAnswer(
  state: LoopState,
  { answer, charge, at }: LoopEventOf<'model_answered'>,
): Step {
  if (state.cutChars > 0) return finishActivation(state, answered)
  const hasReachedLimit = answer.finish === 'length'
  const isDone = mayPass(state) && state.callIds.length > 0
  if (isDone && !hasReachedLimit) return finishActivation(state, passed)
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
  const wait = computeRetryMs(failure, state.retries, jitter)
  if (outage && at + wait >= state.endsAt) return parkForOutage(next, outage)
  return waitUntil({ ...next, outage: null }, at + wait)
}

/**
 * Returns how long to wait before a failed call is made again.
 *
 * @param retries how often it was made again before
 * @param jitter 0 to 1
 */
export function computeRetryMs(
  { retryAfterMs }: Pick<ModelFailure, 'retryAfterMs'>,
  retries: number,
  jitter: number,
): number {
  const { retryBaseMs, retryCapMs } = activationLimits
  const backoff = Math.min(retryCapMs, retryBaseMs * 2 ** retries) * (0.5 + jitter / 2)
  return Math.round(Math.min(retryCapMs, Math.max(backoff, retryAfterMs ?? 0)))
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

/**
 * Runs the admitted calls of an answer (ACT), five at a time and sequential ones alone; refused
 * calls already have their results.
 */
function runCalls(
  state: LoopState,
  admitted: AdmittedCall[],
  event: LoopEventOf<'model_answered'>,
): Step {
  // matched by index: an admitted call may have another id than the model gave
  const calls = admitted.flatMap(({ callId, refusal }, index): StepCall[] => {
    const isSequential = event.calls[index]?.isSequential ?? false
    return refusal === null ? [{ callId, status: 'todo', isSequential }] : []
  })
  const next: LoopState = {
    ...state,
    phase: 'acting',
    toolCalls: state.toolCalls + calls.length,
    callIds: [...state.callIds, ...admitted.map(({ callId }) => callId)],
    calls,
  }
  return startCalls(next, event.at)
}

/** Handles a tool result (OBSERVE): once every call has a result, the model is called again. */
export function handleToolReturned(state: LoopState, event: LoopEventOf<'tool_returned'>): Step {
  const promptTokens =
    state.promptTokens + estimateTokensOfChars(event.text.length + event.name.length)
  const calls = markDone(state.calls, [event.callId])
  return startCalls({ ...state, calls, promptTokens }, event.at)
}

export const markDone = (calls: StepCall[], callIds: string[]): StepCall[] =>
  calls.map((call) => (callIds.includes(call.callId) ? { ...call, status: 'done' } : call))

/**
 * Starts as many calls as have a slot. With none left to run, calls the model again, or parks when
 * a call requires approval.
 */
export function startCalls(state: LoopState, at: number): Step {
  const running = state.calls.filter(({ status }) => status === 'running')
  const todo = state.calls.filter(({ status }) => status === 'todo')
  if (running.length === 0 && todo.length === 0) {
    const isParked = state.calls.some(({ status }) => status === 'parked')
    return isParked ? park(state) : startModelCall(state, at)
  }
  const started = chooseCalls(running, todo)
  const calls = state.calls.map((call) =>
    started.includes(call) ? ({ ...call, status: 'running' } as const) : call,
  )
  return withEffects(
    { ...state, calls },
    ...started.map(({ callId }) => ({ type: 'call_tool', callId }) as const),
  )
}

/** Asks the hub to park the activation, since only parked calls are left. */
const park = (state: LoopState): Step =>
  withEffects({ ...state, phase: 'parking', commitFailures: 0 }, { type: 'park' })

/**
 * Returns the calls to start, in order; a sequential call runs alone and later calls wait for it.
 */
function chooseCalls(running: StepCall[], todo: StepCall[]): StepCall[] {
  const chosen: StepCall[] = []
  for (const call of todo) {
    const busy = running.length + chosen.length
    if (busy >= activationLimits.toolCallsAtOnce) break
    if (running.some(({ isSequential }) => isSequential)) break
    if (call.isSequential) {
      if (busy === 0) chosen.push(call)
      break
    }
    chosen.push(call)
  }
  return chosen
}

/**
 * Continues after a compaction. `reason` then checks the size: it compacts again, calls the model,
 * or gives up. When nothing else was asked, the run ends.
 */
export function handleCompacted(state: LoopState, event: LoopEventOf<'compacted'>): Step {
  const next: LoopState = {
    ...addCharge(state, event.charge),
    promptTokens: event.tokens,
    entries: event.entries,
    // nothing was left to replace, so further attempts are useless
    compactions: event.replaced === 0 ? compaction.attempts : state.compactions,
  }
  if (state.isCompactOnly) {
    const text = endingTexts.compacted(event.replaced, event.problem)
    return finishActivation(next, { outcome: 'completed', error: null, reply: 'notice', text })
  }
  return startModelCall(
    { ...next, mustCompact: state.mustCompact && isWindowNearlyFull(next) },
    event.at,
  )
}

/**
 * Ends with the answer of the model, unless a comment may have arrived for the run and a further model call is
 * possible: then asks the hub first. What is not asked for is delivered after the commit.
 */
function steerOrFinish(state: LoopState, at: number): Step {
  if (!state.maySteer || !canCallModel(state, at)) return finishActivation(state, answered)
  return withEffects({ ...state, maySteer: false }, { type: 'steer' })
}

/**
 * Adds comments that joined the run as a user message, and calls the model: again after an answer, which is not
 * posted then, or for the first time when they were found right before a call. Without any the answer stands.
 */
export function handleSteered(
  state: LoopState,
  { items, at }: LoopEventOf<'steered'>,
  { type }: Effect,
): Step {
  if (items.length === 0) return finishActivation(state, answered)
  const chars = items.reduce((sum, { text }) => sum + text.length, 0)
  const wasCounted = type === 'call_model' && state.retries === 0
  return startModelCall(
    {
      ...state,
      maySteer: false,
      isCompactOnly: false,
      cutChars: 0,
      emptyAnswers: 0,
      iteration: state.iteration - (wasCounted ? 1 : 0),
      entries: state.entries + 1,
      promptTokens: state.promptTokens + estimateTokensOfChars(chars + noteChars * items.length),
    },
    at,
  )
}

/** Characters that a comment is long beside its text: the note and the fence. */
const noteChars = 400
