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

/** One model call: reserve what it may cost at worst, call, tell what it cost. */
export async function callModel(
  bench: Workbench,
  effect: CallEffect,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const { deps } = bench
  const facts = loadedFacts(bench.now().events)
  if (!facts) throw new Error('a model call before LOAD')
  const found = await readDefinition(bench, facts.agentName, facts.definition.etag)
  if (!found.ok) return failOfDefinition(bench, effect.id, found.message)
  await refreshTools(bench)
  const work = { facts, definition: found.definition }
  const plan = planCall(bench, work, effect, signal)
  const { room, timings } = await prepare(bench, work, plan, effect)
  if (room.kind !== 'reserved') return { at: deps.clock.now(), effectId: effect.id, ...room.event }
  if (signal.aborted) return null
  plan.request.maxOutputTokens = room.outputTokens
  announce(bench, 'thinking')
  const startedAt = deps.clock.now()
  const worst = worstCharge(plan)
  noteSent(bench, facts, { effectId: effect.id, worst }, room.isRenewed)
  const input = rememberPrompt(bench, plan)
  const result = await callWatched(bench, plan)
  if (signal.aborted) return null
  const at = deps.clock.now()
  const base = { at, effectId: effect.id, startedAt }
  if (!result.ok) {
    const { failure } = result
    const cost = failure.mayBeCharged ? { ...worst, durationMs: at - startedAt } : null
    return { ...base, type: 'model_failed', failure, charge: cost, jitter: deps.random() }
  }
  const told = tellHooks(bench, work, result.answer)
  const hooks = [...timings, ...(told instanceof Promise ? await told : told)]
  if (signal.aborted) return null
  const event: LoopEventOf<'model_answered'> = {
    ...base,
    type: 'model_answered',
    input,
    answer: result.answer,
    charge: chargeOf(plan, result.answer, at - startedAt),
    calls: describeCalls(bench, result.answer),
  }
  // what the provider counted, when it told (L18)
  const warning = warnOfWindow(event.charge.inputTokens, plan.model.contextTokens)
  if (warning !== null) event.warning = warning
  if (hooks.length > 0) event.hooks = hooks
  return event
}

/**
 * For the case that its answer gets lost. A first call follows its row at once, and what it takes at
 * most is in there, unless hooks have made the prompt much longer; any other needs a note of its own.
 */
function noteSent(
  bench: Workbench,
  { firstCall }: LoadedFacts,
  sent: SentCall,
  isRenewed: boolean,
): void {
  bench.sent = sent
  const { inputTokens, outputTokens } = sent.worst
  const isForeseen = firstCall !== undefined && inputTokens + outputTokens <= firstCall.tokens
  if (isRenewed || !isForeseen) bench.journal.markSent(sent)
}

type CallEffect = Extract<Effect, { type: 'call_model' }>

/** Reserves, then lets the hooks have a look at the prompt as it will be sent. */
async function prepare(
  bench: Workbench,
  work: Work,
  plan: TurnPlan,
  effect: CallEffect,
): Promise<{ room: Room; timings: HookTiming[] }> {
  const room = await reserveTurn(bench, work, plan, effect)
  if (room.kind !== 'reserved') return { room, timings: [] }
  const asked = askHooks(bench, work, plan)
  const { value, timings } = asked instanceof Promise ? await asked : asked
  if (value === plan.request) return { room, timings }
  return { room: await reserveAnew(bench, plan, value, room), timings }
}

/**
 * A renewal may bring more tools than were known before it, after a crash all of them: then what was
 * asked for is too little.
 */
async function reserveTurn(
  bench: Workbench,
  work: Work,
  plan: TurnPlan,
  effect: CallEffect,
): Promise<Room> {
  const { promptTokensMax } = plan
  const room = await reserve(bench, plan, effect)
  if (room.kind !== 'reserved' || !room.isRenewed) return room
  tellWhatHoldsNow(bench, work, plan)
  return plan.promptTokensMax > promptTokensMax ? reserve(bench, plan, { mustRenew: true }) : room
}

/** What the platform knows of the tools that an answer asks for. */
const describeCalls = ({ deps }: Workbench, answer: ModelAnswer): CallFacts[] =>
  answer.calls.map(({ callId, name }) => ({
    callId,
    isSequential: deps.tools.describe(name)?.isSequential ?? false,
  }))

interface Work {
  facts: LoadedFacts
  definition: Definition
}

const askHooks = (bench: Workbench, { facts, definition }: Work, { request }: CallPlan) =>
  hookRequest(bench.deps.hooks.forAgent(definition.hooks), request, hookContext(bench, facts))

const tellHooks = (bench: Workbench, { facts, definition }: Work, answer: ModelAnswer) =>
  bench.deps.hooks.forAgent(definition.hooks).afterModelCall(answer, hookContext(bench, facts))

/** A prompt that hooks have changed may cost more than what was reserved. */
async function reserveAnew(
  bench: Workbench,
  plan: CallPlan,
  { messages, tools }: Prompt,
  before: Extract<Room, { kind: 'reserved' }>,
): Promise<Room> {
  Object.assign(plan.request, { messages, tools })
  Object.assign(plan, sizePrompt(plan.request))
  const outputTokens = bench.grants ? affordableOutput(plan, bench.grants.reservation) : 0
  if (outputTokens >= Math.min(plan.request.maxOutputTokens, outputTokensFloor)) {
    return { ...before, outputTokens }
  }
  return reserve(bench, plan, { mustRenew: true })
}

/** For the trace: what the model is shown, and how much of it begins like the last prompt (L14). */
function rememberPrompt(bench: Workbench, { request, promptTokens }: CallPlan) {
  const { activationId } = bench.now().state
  const before = bench.prompt?.activationId === activationId ? bench.prompt.parts : null
  const { input, parts } = measurePrompt(request, promptTokens, before)
  bench.prompt = { activationId, parts }
  return input
}

/** The call itself; its words go to those who watch as they come (L22). */
async function callWatched(bench: Workbench, { model, request }: CallPlan) {
  const { stream } = bench
  const { activationId } = bench.now().state
  if (!activationId) throw new Error('a model call without an activation')
  const call = stream.beginCall(activationId)
  request.onDelta = (delta) => {
    if (delta.kind === 'text' && bench.doing !== 'writing') {
      bench.doing = 'writing'
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

/** The next turn of a conversation. What comes after it is told anew by every renewal. */
interface TurnPlan extends CallPlan {
  conversation: PromptSize
}

function planCall(
  bench: Workbench,
  { facts, definition }: Work,
  { mustRenew }: CallEffect,
  signal: AbortSignal,
): TurnPlan {
  const { model } = resolveModel(bench, definition, facts)
  const messages = buildTranscript(bench.now().events)
  const conversation = sizeConversation(bench, messages)
  const status = mustRenew ? statusRoom(bench.deps.hubName) : describeStatus(bench)
  messages.push(status)
  const tools = listTools(bench, facts)
  const size = addSizes(conversation, sizePrompt({ messages: [status], tools }))
  const { temperature, topP } = definition.brain
  return {
    model,
    conversation,
    ...size,
    request: {
      messages,
      tools,
      maxOutputTokens: capOutput(bench, model, definition, size),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { topP }),
      cacheKey: bench.agentId,
      signal,
    },
  }
}

const capOutput = (
  bench: Workbench,
  model: Model,
  { limits }: Definition,
  size: PromptSize,
): number => {
  const { state } = bench.now()
  // the provider's own count of what came before is nearer to the truth than a lower estimate
  const promptTokens = Math.max(state.promptTokens, size.promptTokens)
  return Math.min(
    model.outputTokensMax,
    limits.outputTokens,
    // providers refuse a prompt and an answer that together exceed the window
    Math.max(outputTokensFloor, model.contextTokens - promptTokens),
    // of the tokens that this activation may use in all (B5)
    Math.max(outputTokensFloor, state.limits.tokens - state.tokens - promptTokens),
  )
}

/** What it begins with was counted before, unless this machine took it up later or condensed it. */
function sizeConversation({ first }: Workbench, messages: Message[]): PromptSize {
  const isLonger = first?.messages.every((message, index) => message === messages[index])
  if (!first || !isLonger) return sizePrompt({ messages, tools: [] })
  const rest = messages.slice(first.messages.length)
  return addSizes(first.size, sizePrompt({ messages: rest, tools: [] }))
}

function describeStatus(bench: Workbench): Message {
  const { deps, grants, now } = bench
  const text = statusTail({
    state: now().state,
    environment: grants?.environment ?? null,
    storageBytes: readStorageBytes(bench),
    hubName: deps.hubName,
    now: deps.clock.now(),
  })
  return { role: 'user', text }
}

/**
 * The database counts its pages for that, so not in every prompt. Who remembers nothing stores the
 * task under way and no more.
 */
function readStorageBytes(bench: Workbench): number | null {
  if (!bench.definition?.definition.memory.isEnabled) return null
  const at = bench.deps.clock.now()
  if (!bench.storage || at - bench.storage.at > memoryLimits.storageBytesEveryMs) {
    bench.storage = { at, bytes: bench.memory.storageBytes }
  }
  return bench.storage.bytes
}

/** A renewal brings the policy and the budgets as they are now. */
function tellWhatHoldsNow(bench: Workbench, { facts, definition }: Work, plan: TurnPlan): void {
  const { request } = plan
  const status = describeStatus(bench)
  request.messages[request.messages.length - 1] = status
  request.tools = listTools(bench, facts)
  const rest = sizePrompt({ messages: [status], tools: request.tools })
  Object.assign(plan, addSizes(plan.conversation, rest))
  request.maxOutputTokens = capOutput(bench, plan.model, definition, plan)
}
