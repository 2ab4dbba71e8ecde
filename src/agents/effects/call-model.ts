import { applyRequestHooks } from '../hooks/apply-request-hooks'
import type { HookTiming } from '../hooks/hook'
import type { SentCall } from '../journal'
import { formatWindowWarning } from '../loop/compaction'
import { outputTokensFloor } from '../loop/estimate'
import type { CallFacts, LoadedFacts, LoopEvent, LoopEventOf } from '../loop/event'
import type { ModelAnswer } from '../loop/message'
import { hasUsedOwnAccount } from '../loop/own-account'
import { refreshFileUse } from './compose-status'
import { type EffectContext, notifyWatchers, refreshTools, toHookContext } from './effect-context'
import { measurePrompt, type Prompt } from './measure-prompt'
import { recordCount } from './model-ratios'
import { type CallEffect, type ConversationPlan, planCall, updatePlan } from './plan-call'
import {
  affordableOutputTokens,
  boundPromptTokens,
  type CallPlan,
  measurePromptSize,
  toCharge,
  toFailureCharge,
  worstCaseCharge,
} from './price-call'
import { readWork, type Work } from './read-work'
import { recordRequest } from './record-request'
import { reportRecovery } from './report-recovery'
import { type ReservationResult, reserveCall } from './reserve-call'
import { watchUsage } from './watch-usage'

/**
 * Makes one model call: reserves its worst case, calls the model, and returns the answer with its
 * charge. Null when the effect was cancelled meanwhile.
 */
export async function callModel(
  context: EffectContext,
  effect: CallEffect,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const { deps } = context
  const read = await readWork(context, effect.id)
  if (!read.ok) return read.failure
  const { work } = read
  await refreshTools(context)
  await refreshFileUse(context, work.facts)
  const plan = planCall(context, work, effect, signal)
  const { reservation, timings } = await prepare(context, work, plan, effect)
  if (reservation.kind !== 'reserved') {
    return { at: deps.clock.now(), effectId: effect.id, ...reservation.event }
  }
  if (signal.aborted) return null
  plan.request.maxOutputTokens = reservation.outputTokens
  notifyWatchers(context, 'thinking')
  const startedAt = deps.clock.now()
  const worst = worstCaseCharge(plan)
  markSent(context, work.facts, { effectId: effect.id, worst }, reservation.isRenewed)
  watchUsage(context, plan, effect.id, startedAt)
  const input = measureSentPrompt(context, plan)
  const request = recordRequest(context, plan)
  const result = await callStreaming(context, plan)
  if (signal.aborted) return null
  const at = deps.clock.now()
  const base = { at, effectId: effect.id, startedAt, request }
  if (!result.ok) {
    const { failure } = result
    const charge = toFailureCharge(plan, failure, at - startedAt)
    await reportRecovery(context, failure)
    return { ...base, type: 'model_failed', failure, charge, jitter: deps.random() }
  }
  const charge = toCharge(plan, result.answer, at - startedAt)
  context.inFlight = { effectId: effect.id, measure: () => charge }
  recordCount(context, plan, charge)
  await reportRecovery(context, null)
  const hooks = [...timings, ...(await runAnswerHooks(context, work, result.answer))]
  if (signal.aborted) return null
  const event: LoopEventOf<'model_answered'> = {
    ...base,
    type: 'model_answered',
    input,
    answer: result.answer,
    charge,
    calls: toCallFacts(context, result.answer),
  }
  // as counted by the provider, when it reported usage
  const warning = formatWindowWarning(event.charge.inputTokens, plan.model.contextTokens)
  if (warning !== null) event.warning = warning
  if (hooks.length > 0) event.hooks = hooks
  return event
}

/**
 * Remembers the sent call in case its answer gets lost. A first call starts right after LOAD, whose
 * facts hold its worst case, unless hooks made the prompt much longer; any other call is written to
 * the journal.
 */
function markSent(
  context: EffectContext,
  { firstCall }: LoadedFacts,
  sent: SentCall,
  isRenewed: boolean,
): void {
  context.sentCall = sent
  const { inputTokens, outputTokens } = sent.worst
  const isCoveredByFirstCall =
    firstCall !== undefined && inputTokens + outputTokens <= firstCall.tokens
  if (isRenewed || !isCoveredByFirstCall) context.journal.recordSentCall(sent)
}

/** Reserves the call, then runs the hooks on the prompt as it will be sent. */
async function prepare(
  context: EffectContext,
  work: Work,
  plan: ConversationPlan,
  effect: CallEffect,
): Promise<{ reservation: ReservationResult; timings: HookTiming[] }> {
  const reservation = await reserveCurrentPrompt(context, work, plan, effect)
  if (reservation.kind !== 'reserved') return { reservation, timings: [] }
  const { value, timings } = await runRequestHooks(context, work, plan)
  if (value === plan.request) return { reservation, timings }
  return { reservation: await reserveChangedPrompt(context, plan, value, reservation), timings }
}

/**
 * Reserves the call, and once more when the renewal returned tools that make the prompt longer than
 * what was reserved. After a crash no tools are known before the renewal. The call is not made when comments
 * joined the run: they belong to its prompt.
 */
async function reserveCurrentPrompt(
  context: EffectContext,
  work: Work,
  plan: ConversationPlan,
  effect: CallEffect,
): Promise<ReservationResult> {
  const promptTokens = boundPromptTokens(plan)
  const reservation = await reserveCall(context, plan, effect)
  if (reservation.kind !== 'reserved' || !reservation.isRenewed) return reservation
  const { joined = [] } = reservation
  // an answer that is being continued is finished first
  if (joined.length > 0 && context.getActivation().state.cutChars === 0) {
    return { kind: 'refused', event: { type: 'steered', items: joined } }
  }
  updatePlan(context, work, plan)
  return boundPromptTokens(plan) > promptTokens
    ? reserveCall(context, plan, { mustRenew: true })
    : reservation
}

/** Returns the properties of the tools that an answer calls. */
const toCallFacts = ({ deps }: EffectContext, answer: ModelAnswer): CallFacts[] =>
  answer.calls.map(({ callId, name }) => ({
    callId,
    isSequential: deps.tools.describe(name)?.isSequential ?? false,
  }))

const runRequestHooks = (
  context: EffectContext,
  { facts, definition }: Work,
  { request }: CallPlan,
) =>
  applyRequestHooks(
    context.deps.hooks.forAgent(definition.hooks),
    request,
    toHookContext(context, facts),
  )

const runAnswerHooks = (context: EffectContext, { facts, definition }: Work, answer: ModelAnswer) =>
  context.deps.hooks
    .forAgent(definition.hooks)
    .afterModelCall(answer, toHookContext(context, facts))

/** Reserves more when hooks changed the prompt so that it may exceed the reservation. */
async function reserveChangedPrompt(
  context: EffectContext,
  plan: CallPlan,
  { messages, tools }: Prompt,
  before: Extract<ReservationResult, { kind: 'reserved' }>,
): Promise<ReservationResult> {
  Object.assign(plan.request, { messages, tools })
  Object.assign(plan, measurePromptSize(plan.request))
  const outputTokens = context.hubSnapshot
    ? affordableOutputTokens(plan, context.hubSnapshot.reservation)
    : 0
  if (outputTokens >= Math.min(plan.request.maxOutputTokens, outputTokensFloor)) {
    return { ...before, outputTokens }
  }
  return reserveCall(context, plan, { mustRenew: true })
}

/** Measures the prompt for the trace, and the share of the previous prompt that it starts with. */
function measureSentPrompt(context: EffectContext, { request, promptTokens }: CallPlan) {
  const { activationId } = context.getActivation().state
  const before = context.lastPrompt?.activationId === activationId ? context.lastPrompt.parts : null
  const { input, parts } = measurePrompt(request, promptTokens, before)
  context.lastPrompt = { activationId, parts }
  return input
}

/** Calls the model and streams its text to live watchers. */
async function callStreaming(context: EffectContext, { model, request }: CallPlan) {
  const { stream } = context
  const { state, events } = context.getActivation()
  const { activationId } = state
  if (!activationId) throw new Error('a model call without an activation')
  const call = stream.beginCall(activationId, hasUsedOwnAccount(events))
  request.onDelta = (delta) => {
    if (delta.kind === 'text' && context.doing !== 'writing') {
      context.doing = 'writing'
      stream.publishDoing(activationId, 'writing')
    }
    stream.addDelta(call, delta)
  }
  try {
    return await model.call(request)
  } finally {
    stream.endCall(call)
  }
}
