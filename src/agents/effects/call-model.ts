import { createStatusPlaceholder } from '../context/status-tail'
import type { Definition } from '../definitions/definition'
import { applyRequestHooks } from '../hooks/apply-request-hooks'
import type { HookTiming } from '../hooks/hook'
import { formatWindowWarning } from '../loop/compaction'
import type { Effect } from '../loop/effect'
import { outputTokensFloor } from '../loop/estimate'
import type { CallFacts, LoadedFacts, LoopEvent, LoopEventOf } from '../loop/event'
import type { Message, ModelAnswer } from '../loop/message'
import { buildTranscript } from '../loop/transcript'
import type { Model } from '../models/model-port'
import type { SentCall } from '../storage/journal'
import { composeStatus } from './compose-status'
import {
  type EffectContext,
  findLoadedFacts,
  listTools,
  notifyWatchers,
  readDefinition,
  refreshTools,
  resolveModel,
  toDefinitionFailure,
  toHookContext,
} from './effect-context'
import { measurePrompt, type Prompt } from './measure-prompt'
import {
  addPromptSizes,
  affordableOutputTokens,
  type CallPlan,
  measurePromptSize,
  type PromptSize,
  toCharge,
  worstCaseCharge,
} from './price-call'
import { recordRequest } from './record-request'
import { type ReservationResult, reserveCall } from './reserve-call'

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
  const facts = findLoadedFacts(context.getActivation().events)
  if (!facts) throw new Error('a model call before LOAD')
  const found = await readDefinition(context, facts.agentName, facts.definition.etag)
  if (!found.ok) return toDefinitionFailure(context, effect.id, found.message)
  await refreshTools(context)
  const work = { facts, definition: found.definition }
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
  markSent(context, facts, { effectId: effect.id, worst }, reservation.isRenewed)
  const input = measureSentPrompt(context, plan)
  const request = recordRequest(context, plan)
  const result = await callStreaming(context, plan)
  if (signal.aborted) return null
  const at = deps.clock.now()
  const base = { at, effectId: effect.id, startedAt, request }
  if (!result.ok) {
    const { failure } = result
    const cost = failure.mayBeCharged ? { ...worst, durationMs: at - startedAt } : null
    return { ...base, type: 'model_failed', failure, charge: cost, jitter: deps.random() }
  }
  const hooks = [...timings, ...(await runAnswerHooks(context, work, result.answer))]
  if (signal.aborted) return null
  const event: LoopEventOf<'model_answered'> = {
    ...base,
    type: 'model_answered',
    input,
    answer: result.answer,
    charge: toCharge(plan, result.answer, at - startedAt),
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

type CallEffect = Extract<Effect, { type: 'call_model' }>

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
 * what was reserved. After a crash no tools are known before the renewal.
 */
async function reserveCurrentPrompt(
  context: EffectContext,
  work: Work,
  plan: ConversationPlan,
  effect: CallEffect,
): Promise<ReservationResult> {
  const { promptTokensMax } = plan
  const reservation = await reserveCall(context, plan, effect)
  if (reservation.kind !== 'reserved' || !reservation.isRenewed) return reservation
  updatePlan(context, work, plan)
  return plan.promptTokensMax > promptTokensMax
    ? reserveCall(context, plan, { mustRenew: true })
    : reservation
}

/** Returns the properties of the tools that an answer calls. */
const toCallFacts = ({ deps }: EffectContext, answer: ModelAnswer): CallFacts[] =>
  answer.calls.map(({ callId, name }) => ({
    callId,
    isSequential: deps.tools.describe(name)?.isSequential ?? false,
  }))

interface Work {
  facts: LoadedFacts
  definition: Definition
}

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
  const { activationId } = context.getActivation().state
  if (!activationId) throw new Error('a model call without an activation')
  const call = stream.beginCall(activationId)
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

/**
 * A model call that continues the conversation. The status and the tools, which follow the
 * conversation, are rebuilt after every renewal.
 */
interface ConversationPlan extends CallPlan {
  conversation: PromptSize
}

/** Returns the request of the next model call, with the size of its prompt. */
function planCall(
  context: EffectContext,
  { facts, definition }: Work,
  { mustRenew }: CallEffect,
  signal: AbortSignal,
): ConversationPlan {
  const { model } = resolveModel(context, definition, facts)
  const messages = buildTranscript(context.getActivation().events)
  const conversation = sizeConversation(context, messages)
  const status = mustRenew ? createStatusPlaceholder(context.deps.hubName) : composeStatus(context)
  messages.push(status)
  const tools = listTools(context, facts)
  const size = addPromptSizes(conversation, measurePromptSize({ messages: [status], tools }))
  const { temperature, topP } = definition.brain
  return {
    model,
    conversation,
    ...size,
    request: {
      messages,
      tools,
      maxOutputTokens: capOutput(context, model, definition, size),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { topP }),
      cacheKey: context.agentId,
      signal,
    },
  }
}

/** Returns the most tokens that the answer may have. */
const capOutput = (
  context: EffectContext,
  model: Model,
  { limits }: Definition,
  size: PromptSize,
): number => {
  const { state } = context.getActivation()
  // the provider's count of earlier messages is more accurate than a lower estimate
  const promptTokens = Math.max(state.promptTokens, size.promptTokens)
  return Math.min(
    model.outputTokensMax,
    limits.outputTokens,
    // providers refuse a prompt and an answer that together exceed the window
    Math.max(outputTokensFloor, model.contextTokens - promptTokens),
    // the token limit of the activation
    Math.max(outputTokensFloor, state.limits.tokens - state.tokens - promptTokens),
  )
}

/**
 * Returns the size of the messages. The first prompt was measured before, unless another machine
 * resumed the activation or a compaction changed it.
 */
function sizeConversation({ firstPrompt: first }: EffectContext, messages: Message[]): PromptSize {
  const startsWithFirst = first?.messages.every((message, index) => message === messages[index])
  if (!first || !startsWithFirst) return measurePromptSize({ messages, tools: [] })
  const rest = messages.slice(first.messages.length)
  return addPromptSizes(first.size, measurePromptSize({ messages: rest, tools: [] }))
}

/** Rebuilds status and tools after a renewal, which returns the current policy and budgets. */
function updatePlan(
  context: EffectContext,
  { facts, definition }: Work,
  plan: ConversationPlan,
): void {
  const { request } = plan
  const status = composeStatus(context)
  request.messages[request.messages.length - 1] = status
  request.tools = listTools(context, facts)
  const rest = measurePromptSize({ messages: [status], tools: request.tools })
  Object.assign(plan, addPromptSizes(plan.conversation, rest))
  request.maxOutputTokens = capOutput(context, plan.model, definition, plan)
}
