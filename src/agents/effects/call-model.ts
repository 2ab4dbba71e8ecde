import { memoryLimits } from '../../config'
import { statusRoom, statusTail } from '../context/status-tail'
import type { Definition } from '../definitions/definition'
import type { HookTiming } from '../hooks/hook'
import { hookRequest } from '../hooks/hook-request'
import { warnOfWindow } from '../loop/compaction'
import type { Effect } from '../loop/effect'
import { outputTokensFloor } from '../loop/estimate'
import type { CallFacts, LoadedFacts, LoopEvent, LoopEventOf } from '../loop/event'
import type { Message, ModelAnswer } from '../loop/message'
import { buildTranscript } from '../loop/transcript'
import type { Model } from '../models/model-port'
import type { SentCall } from '../storage/journal'
import { measurePrompt, type Prompt } from '../trace/measure-prompt'
import {
  addSizes,
  affordableOutput,
  type CallPlan,
  chargeOf,
  type PromptSize,
  sizePrompt,
  worstCharge,
} from './price-call'
import { type Room, reserve } from './reserve-call'
import {
  announce,
  failOfDefinition,
  hookContext,
  listTools,
  loadedFacts,
  readDefinition,
  refreshTools,
  resolveModel,
  type Workbench,
} from './workbench'

/**
 * Makes one model call: reserves its worst case, calls the model, and returns the answer with its
 * charge. Null when the effect was cancelled meanwhile.
 */
export async function callModel(
  context: Workbench,
  effect: CallEffect,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const { deps } = context
  const facts = loadedFacts(context.now().events)
  if (!facts) throw new Error('a model call before LOAD')
  const found = await readDefinition(context, facts.agentName, facts.definition.etag)
  if (!found.ok) return failOfDefinition(context, effect.id, found.message)
  await refreshTools(context)
  const work = { facts, definition: found.definition }
  const plan = planCall(context, work, effect, signal)
  const { reservation, timings } = await prepare(context, work, plan, effect)
  if (reservation.kind !== 'reserved') {
    return { at: deps.clock.now(), effectId: effect.id, ...reservation.event }
  }
  if (signal.aborted) return null
  plan.request.maxOutputTokens = reservation.outputTokens
  announce(context, 'thinking')
  const startedAt = deps.clock.now()
  const worst = worstCharge(plan)
  markSent(context, facts, { effectId: effect.id, worst }, reservation.isRenewed)
  const input = measureSentPrompt(context, plan)
  const result = await callStreaming(context, plan)
  if (signal.aborted) return null
  const at = deps.clock.now()
  const base = { at, effectId: effect.id, startedAt }
  if (!result.ok) {
    const { failure } = result
    const cost = failure.mayBeCharged ? { ...worst, durationMs: at - startedAt } : null
    return { ...base, type: 'model_failed', failure, charge: cost, jitter: deps.random() }
  }
  const after = runAnswerHooks(context, work, result.answer)
  const hooks = [...timings, ...(after instanceof Promise ? await after : after)]
  if (signal.aborted) return null
  const event: LoopEventOf<'model_answered'> = {
    ...base,
    type: 'model_answered',
    input,
    answer: result.answer,
    charge: chargeOf(plan, result.answer, at - startedAt),
    calls: toCallFacts(context, result.answer),
  }
  // as counted by the provider, when it reported usage
  const warning = warnOfWindow(event.charge.inputTokens, plan.model.contextTokens)
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
  context: Workbench,
  { firstCall }: LoadedFacts,
  sent: SentCall,
  isRenewed: boolean,
): void {
  context.sent = sent
  const { inputTokens, outputTokens } = sent.worst
  const isCoveredByFirstCall =
    firstCall !== undefined && inputTokens + outputTokens <= firstCall.tokens
  if (isRenewed || !isCoveredByFirstCall) context.journal.markSent(sent)
}

type CallEffect = Extract<Effect, { type: 'call_model' }>

/** Reserves the call, then runs the hooks on the prompt as it will be sent. */
async function prepare(
  context: Workbench,
  work: Work,
  plan: ConversationPlan,
  effect: CallEffect,
): Promise<{ reservation: Room; timings: HookTiming[] }> {
  const reservation = await reserveCurrentPrompt(context, work, plan, effect)
  if (reservation.kind !== 'reserved') return { reservation, timings: [] }
  const before = runRequestHooks(context, work, plan)
  const { value, timings } = before instanceof Promise ? await before : before
  if (value === plan.request) return { reservation, timings }
  return { reservation: await reserveChangedPrompt(context, plan, value, reservation), timings }
}

/**
 * Reserves the call, and once more when the renewal returned tools that make the prompt longer than
 * what was reserved. After a crash no tools are known before the renewal.
 */
async function reserveCurrentPrompt(
  context: Workbench,
  work: Work,
  plan: ConversationPlan,
  effect: CallEffect,
): Promise<Room> {
  const { promptTokensMax } = plan
  const reservation = await reserve(context, plan, effect)
  if (reservation.kind !== 'reserved' || !reservation.isRenewed) return reservation
  updatePlan(context, work, plan)
  return plan.promptTokensMax > promptTokensMax
    ? reserve(context, plan, { mustRenew: true })
    : reservation
}

/** Returns the properties of the tools that an answer calls. */
const toCallFacts = ({ deps }: Workbench, answer: ModelAnswer): CallFacts[] =>
  answer.calls.map(({ callId, name }) => ({
    callId,
    isSequential: deps.tools.describe(name)?.isSequential ?? false,
  }))

interface Work {
  facts: LoadedFacts
  definition: Definition
}

const runRequestHooks = (context: Workbench, { facts, definition }: Work, { request }: CallPlan) =>
  hookRequest(context.deps.hooks.forAgent(definition.hooks), request, hookContext(context, facts))

const runAnswerHooks = (context: Workbench, { facts, definition }: Work, answer: ModelAnswer) =>
  context.deps.hooks.forAgent(definition.hooks).afterModelCall(answer, hookContext(context, facts))

/** Reserves more when hooks changed the prompt so that it may exceed the reservation. */
async function reserveChangedPrompt(
  context: Workbench,
  plan: CallPlan,
  { messages, tools }: Prompt,
  before: Extract<Room, { kind: 'reserved' }>,
): Promise<Room> {
  Object.assign(plan.request, { messages, tools })
  Object.assign(plan, sizePrompt(plan.request))
  const outputTokens = context.grants ? affordableOutput(plan, context.grants.reservation) : 0
  if (outputTokens >= Math.min(plan.request.maxOutputTokens, outputTokensFloor)) {
    return { ...before, outputTokens }
  }
  return reserve(context, plan, { mustRenew: true })
}

/** Measures the prompt for the trace, and the share of the previous prompt that it starts with. */
function measureSentPrompt(context: Workbench, { request, promptTokens }: CallPlan) {
  const { activationId } = context.now().state
  const before = context.prompt?.activationId === activationId ? context.prompt.parts : null
  const { input, parts } = measurePrompt(request, promptTokens, before)
  context.prompt = { activationId, parts }
  return input
}

/** Calls the model and streams its text to live watchers. */
async function callStreaming(context: Workbench, { model, request }: CallPlan) {
  const { stream } = context
  const { activationId } = context.now().state
  if (!activationId) throw new Error('a model call without an activation')
  const call = stream.beginCall(activationId)
  request.onDelta = (delta) => {
    if (delta.kind === 'text' && context.doing !== 'writing') {
      context.doing = 'writing'
      stream.tellDoing(activationId, 'writing')
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
  context: Workbench,
  { facts, definition }: Work,
  { mustRenew }: CallEffect,
  signal: AbortSignal,
): ConversationPlan {
  const { model } = resolveModel(context, definition, facts)
  const messages = buildTranscript(context.now().events)
  const conversation = sizeConversation(context, messages)
  const status = mustRenew ? statusRoom(context.deps.hubName) : composeStatus(context)
  messages.push(status)
  const tools = listTools(context, facts)
  const size = addSizes(conversation, sizePrompt({ messages: [status], tools }))
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
  context: Workbench,
  model: Model,
  { limits }: Definition,
  size: PromptSize,
): number => {
  const { state } = context.now()
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
function sizeConversation({ first }: Workbench, messages: Message[]): PromptSize {
  const startsWithFirst = first?.messages.every((message, index) => message === messages[index])
  if (!first || !startsWithFirst) return sizePrompt({ messages, tools: [] })
  const rest = messages.slice(first.messages.length)
  return addSizes(first.size, sizePrompt({ messages: rest, tools: [] }))
}

/** Returns the status message at the end of the prompt. */
function composeStatus(context: Workbench): Message {
  const { deps, grants } = context
  const text = statusTail({
    state: context.now().state,
    environment: grants?.environment ?? null,
    storageBytes: readStorageBytes(context),
    hubName: deps.hubName,
    now: deps.clock.now(),
  })
  return { role: 'user', text }
}

/**
 * Returns the size of the agent's storage, measured at most once per interval because the database
 * counts its pages for it. Null for an agent without memory.
 */
function readStorageBytes(context: Workbench): number | null {
  if (!context.definition?.definition.memory.isEnabled) return null
  const at = context.deps.clock.now()
  if (!context.storage || at - context.storage.at > memoryLimits.storageBytesEveryMs) {
    context.storage = { at, bytes: context.memory.storageBytes }
  }
  return context.storage.bytes
}

/** Rebuilds status and tools after a renewal, which returns the current policy and budgets. */
function updatePlan(context: Workbench, { facts, definition }: Work, plan: ConversationPlan): void {
  const { request } = plan
  const status = composeStatus(context)
  request.messages[request.messages.length - 1] = status
  request.tools = listTools(context, facts)
  const rest = sizePrompt({ messages: [status], tools: request.tools })
  Object.assign(plan, addSizes(plan.conversation, rest))
  request.maxOutputTokens = capOutput(context, plan.model, definition, plan)
}
