import { memoryLimits } from '../../shared/config'
import { buildStatusTail, createStatusPlaceholder } from '../context/status-tail'
import type { Definition } from '../definitions/definition'
import type { HookTiming } from '../hooks/hook'
import { applyRequestHooks } from '../hooks/hook-runner'
import { formatWindowWarning } from '../loop/compaction'
import type {
  CallFacts,
  LoadedFacts,
  LoopEvent,
  LoopEventOf,
  RequestParameters,
} from '../loop/event'
import {
  type Message,
  type ModelAnswer,
  type ModelFailure,
  outputTokensFloor,
} from '../loop/message'
import { hasUsedOwnAccount } from '../loop/privacy'
import type { Effect } from '../loop/state'
import { buildTranscript } from '../loop/transcript'
import type { Model } from '../models/model-port'
import type { SentCall } from '../storage/journal'
import {
  type AgentDeps,
  type EffectContext,
  findRatio,
  listTools,
  notifyWatchers,
  readWork,
  recordCount,
  refreshTools,
  resolveModel,
  toHookContext,
  toToolCaller,
  type Work,
} from './effect-context'
import { hashTools, measurePrompt } from './measure-prompt'
import {
  addPromptSizes,
  affordableOutputTokens,
  boundPromptTokens,
  type CallPlan,
  measurePromptSize,
  type Prompt,
  type PromptTokens,
  toCharge,
  toFailureCharge,
  worstCaseCharge,
} from './price-call'
import { type ReservationResult, reserveCall, watchUsage } from './reserve-call'

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
  await addImages(context, plan)
  if (signal.aborted) return null
  plan.request.maxOutputTokens = reservation.outputTokens
  notifyWatchers(context, 'thinking')
  const startedAt = deps.clock.now()
  const worst = worstCaseCharge(plan)
  markSent(context, work.facts, { effectId: effect.id, worst }, reservation.isRenewed)
  watchUsage(context, plan, effect.id, startedAt)
  const input = measureSentPrompt(context, plan)
  const request = recordRequest(context, plan)
  let result = await callStreaming(context, plan)
  if (!result.ok && mayRefuseImages(result.failure, plan)) {
    hideImages(context, plan)
    delete input.images
    result = await callStreaming(context, plan)
  }
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
  context.inFlight = { effectId: effect.id, measure: () => charge, text: result.answer.text }
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
  const systemPrompt = findSystemPrompt(value.messages)
  if (systemPrompt !== findSystemPrompt(plan.request.messages)) {
    plan.systemPrompt = systemPrompt.length <= hookedPromptCharsMax ? systemPrompt : null
  }
  return { reservation: await reserveChangedPrompt(context, plan, value, reservation), timings }
}

/** Of a prompt that hooks changed: its row of the journal also holds the answer. */
const hookedPromptCharsMax = 24_000

const findSystemPrompt = ([first]: Message[]): string =>
  first?.role === 'system' ? first.text : ''

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

/**
 * Adds the bytes of the prompt's images for a model that sees; of one that is deleted meanwhile there are none. One that
 * cannot be read now is tried again at the next call.
 */
async function addImages(
  { deps, images }: EffectContext,
  { model, request }: CallPlan,
): Promise<void> {
  const listed = request.messages.flatMap((each) => (each.role === 'user' && each.images) || [])
  if (!model.seesImages || listed.length === 0) return
  await Promise.all(
    listed.map(async ({ id }) => {
      if (images.has(id)) return
      const bytes = await readImage(deps, id)
      if (bytes !== undefined) images.set(id, bytes)
    }),
  )
  request.images = new Map(
    listed.flatMap(({ id }) => {
      const bytes = images.get(id)
      return bytes ? [[id, bytes]] : []
    }),
  )
}

/** Returns the bytes of an image; null for one that is gone, undefined for a failure, which is logged. */
async function readImage(
  { media, log }: AgentDeps,
  id: string,
): Promise<Uint8Array | null | undefined> {
  try {
    const body = await media.get(id)
    return body && new Uint8Array(await new Response(body).arrayBuffer())
  } catch (error) {
    log.warn('failed to read an image', { id, error })
    return undefined
  }
}

/** Whether a provider may have refused a prompt for its images: the catalogue goes by the beginning of a model's name. */
const mayRefuseImages = (failure: ModelFailure, { request }: CallPlan): boolean =>
  failure.refusesPrompt === true &&
  failure.isTooLong !== true &&
  !failure.mayBeCharged &&
  (request.images?.size ?? 0) > 0

/** Sends no image in the rest of the run; the model reads that. */
function hideImages({ images }: EffectContext, { request }: CallPlan): void {
  for (const id of images.keys()) images.set(id, null)
  delete request.images
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
  const { inFlight } = context
  request.onDelta = (delta) => {
    if (delta.kind === 'text' && inFlight) {
      inFlight.text = delta.isWhole ? delta.text : inFlight.text + delta.text
    }
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

type CallEffect = Extract<Effect, { type: 'call_model' }>

/**
 * A model call that continues the conversation. The status and the tools, which follow the
 * conversation, are rebuilt after every renewal.
 */
interface ConversationPlan extends CallPlan {
  conversation: PromptTokens
  /** The first message, when hooks changed it; null when it is too long for the journal. */
  systemPrompt?: string | null
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
  const { tools } = listTools(context, facts, model)
  const size = addPromptSizes(conversation, measurePromptSize({ messages: [status], tools }))
  const { temperature, topP } = definition.brain
  return {
    model,
    conversation,
    ...size,
    ...findRatio(context, model.id),
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
  size: PromptTokens,
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
function sizeConversation(
  { firstPrompt: first }: EffectContext,
  messages: Message[],
): PromptTokens {
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
  request.tools = listTools(context, facts, plan.model).tools
  const rest = measurePromptSize({ messages: [status], tools: request.tools })
  Object.assign(plan, addPromptSizes(plan.conversation, rest))
  request.maxOutputTokens = capOutput(context, plan.model, definition, plan)
}

/** Returns the status message at the end of the prompt. */
function composeStatus(context: EffectContext): Message {
  const { deps, hubSnapshot: grants } = context
  const now = deps.clock.now()
  const text = buildStatusTail({
    state: context.getActivation().state,
    environment: grants?.environment ?? null,
    storageBytes: readStorageBytes(context),
    files: context.fileUse?.use ?? null,
    hubName: deps.hubName,
    now,
    shownAt: deps.replayed?.toRunTime(now) ?? now,
  })
  return { role: 'user', text }
}

/** Measures the agent's files for the status, at most once per interval and for each activation. */
async function refreshFileUse(context: EffectContext, facts: LoadedFacts): Promise<void> {
  const { deps, fileUse, hubSnapshot } = context
  const { activationId } = context.getActivation().state
  const at = deps.clock.now()
  const isFresh =
    fileUse?.activationId === activationId && at - fileUse.at <= memoryLimits.storageBytesEveryMs
  if (!hubSnapshot || isFresh) return
  const measuring = deps.tools.measureFiles(toToolCaller(context, facts), hubSnapshot.policy)
  // Without the line the run goes on: it only informs.
  const use = measuring && (await measuring.catch(() => null))
  context.fileUse = { at, activationId, use }
}

/**
 * Returns the size of the agent's storage, measured at most once per interval because the database
 * counts its pages for it. Null for an agent without memory.
 */
function readStorageBytes(context: EffectContext): number | null {
  if (!context.definition?.definition.memory.isEnabled) return null
  if (context.deps.replayed) return context.deps.replayed.readStorageBytes()
  const at = context.deps.clock.now()
  if (!context.storageSize || at - context.storageSize.at > memoryLimits.storageBytesEveryMs) {
    context.storageSize = { at, bytes: context.memory.storageBytes }
  }
  return context.storageSize.bytes
}

/**
 * Returns the parameters of a model call for the journal. The messages follow from the journal, but
 * for the last one.
 */
function recordRequest(
  context: EffectContext,
  { model, request, systemPrompt }: ConversationPlan,
): RequestParameters {
  const { messages, tools, maxOutputTokens, temperature, topP } = request
  const { activationId } = context.getActivation().state
  const toolsHash = hashTools(tools)
  const last = context.lastTools
  const isSame = last?.activationId === activationId && last.hash === toolsHash
  context.lastTools = { activationId, hash: toolsHash }
  const status = messages.at(-1)
  return {
    model: model.id,
    maxOutputTokens,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(isSame ? {} : { tools: tools.map(({ name }) => name), toolsHash }),
    ...(systemPrompt !== undefined && { systemPrompt }),
    status: status && 'text' in status ? status.text : '',
  }
}

/** Failures that do not show whether the provider is back. */
const inconclusive: readonly ModelFailure['code'][] = ['TIMEOUT', 'CANCELLED', 'HUB_UNREACHABLE']

/**
 * Reports that a provider that was down has answered, and wakes the agents that wait for it. Only
 * the run that was resumed to try it does. A lost report is made up for by the next attempt.
 */
async function reportRecovery(
  { deps, getActivation }: EffectContext,
  failure: ModelFailure | null,
): Promise<void> {
  const { outage } = getActivation().state
  if (!outage || failure?.outage || (failure && inconclusive.includes(failure.code))) return
  try {
    const waiting = await deps.hub.endOutage(outage.address, deps.clock.now())
    if (waiting.length > 0) void deps.wakeAgents(waiting)
  } catch (error) {
    deps.log.warn('failed to report that a provider is back', { error })
  }
}
