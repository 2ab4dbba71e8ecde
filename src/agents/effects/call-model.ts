import type { Reservation } from '../../hub/contract'
import { statusTail } from '../context/status-tail'
import type { Definition } from '../definitions/definition'
import type { Effect } from '../loop/effect'
import type { Charge, LoadedFacts, LoopEvent } from '../loop/event'
import type { Message, ModelUsage } from '../loop/message'
import { buildTranscript } from '../loop/transcript'
import { costOf } from '../models/catalogue'
import { estimateTokens } from '../models/estimate-tokens'
import type { Model, ModelRequest } from '../models/model-port'
import {
  announce,
  loadedFacts,
  readDefinition,
  resolveModel,
  toolCaller,
  type Workbench,
} from './workbench'

/** An answer shorter than this is of no use: then the budget counts as used up. */
const outputTokensFloor = 64

/** What a further call asks for; the prompt only grows, so a little more than the last one. */
interface Plan {
  request: ModelRequest
  promptTokens: number
  model: Model
}

/** One model call: reserve what it may cost at worst, call, tell what it cost. */
export async function callModel(
  bench: Workbench,
  effect: Extract<Effect, { type: 'call_model' }>,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const { deps } = bench
  const { events } = bench.now()
  const facts = loadedFacts(events)
  if (!facts) throw new Error('a model call before LOAD')
  const found = await readDefinition(bench, facts.agentName, facts.definition.etag)
  if (!found.ok) throw new Error(found.message)
  const plan = planCall(bench, facts, found.definition, signal)
  const room = await reserve(bench, plan, effect)
  if (room.kind !== 'reserved') return room.event
  if (signal.aborted) return null
  plan.request.maxOutputTokens = room.outputTokens
  if (room.isRenewed) tellWhatHoldsNow(bench, facts, plan)
  announce(bench, 'thinking')
  const startedAt = deps.clock.now()
  const worst = charge(plan.model, worstUsage(plan), true, 0)
  // an unrenewed call follows its row at once; after a renewal time has passed since
  bench.sent = { effectId: effect.id, worst }
  if (room.isRenewed) bench.journal.markSent(bench.sent)
  const result = await callWatched(bench, plan)
  if (signal.aborted) return null
  const at = deps.clock.now()
  const base = { at, effectId: effect.id, startedAt }
  if (!result.ok) {
    const { failure } = result
    const cost = failure.mayBeCharged ? { ...worst, durationMs: at - startedAt } : null
    return { ...base, type: 'model_failed', failure, charge: cost, jitter: deps.random() }
  }
  const { answer } = result
  const usage = answer.usage ?? estimateUsage(plan, answer.text, answer.reasoning)
  return {
    ...base,
    type: 'model_answered',
    answer,
    charge: charge(plan.model, usage, answer.usage === null, at - startedAt),
    calls: answer.calls.map(({ callId, name }) => ({
      callId,
      isSequential: deps.tools.describe(name)?.isSequential ?? false,
    })),
  }
}

/** The call itself; its words go to those who watch as they come (L22). */
async function callWatched({ stream, now }: Workbench, { model, request }: Plan) {
  const { activationId } = now().state
  if (!activationId) throw new Error('a model call without an activation')
  const call = stream.beginCall(activationId)
  request.onDelta = (delta) => stream.addDelta(call, delta)
  try {
    return await model.call(request)
  } finally {
    stream.endCall(call)
  }
}

function planCall(
  bench: Workbench,
  facts: LoadedFacts,
  definition: Definition,
  signal: AbortSignal,
): Plan {
  const { model } = resolveModel(bench, definition, facts)
  const messages = buildTranscript(bench.now().events)
  messages.push(describeStatus(bench))
  const tools = listTools(bench, facts)
  const { temperature, topP } = definition.brain
  return {
    model,
    promptTokens: estimateTokens(messages, tools),
    request: {
      messages,
      tools,
      maxOutputTokens: Math.min(model.outputTokensMax, definition.limits.outputTokens),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { topP }),
      signal,
    },
  }
}

const describeStatus = ({ deps, grants, now }: Workbench): Message => ({
  role: 'user',
  text: statusTail(now().state, grants?.budgets ?? [], deps.clock.now()),
})

const listTools = (bench: Workbench, facts: LoadedFacts) =>
  bench.grants ? bench.deps.tools.list(toolCaller(bench, facts), bench.grants.policy) : []

/** A renewal brings the policy and the budgets as they are now. */
function tellWhatHoldsNow(bench: Workbench, facts: LoadedFacts, { request }: Plan): void {
  request.messages[request.messages.length - 1] = describeStatus(bench)
  request.tools = listTools(bench, facts)
}

type Room =
  | { kind: 'reserved'; outputTokens: number; isRenewed: boolean }
  | { kind: 'refused'; event: LoopEvent }

/**
 * Makes sure that the call's worst case is reserved, and clamps its output to what is (B4). The
 * first call uses LOAD's reservation when that is enough, so a mention answered without tools needs
 * no further round trip (L37).
 */
async function reserve(
  bench: Workbench,
  plan: Plan,
  effect: Extract<Effect, { type: 'call_model' }>,
): Promise<Room> {
  if (!effect.mustRenew && bench.grants) {
    const outputTokens = affordableOutput(plan, bench.grants.reservation)
    if (outputTokens >= Math.min(plan.request.maxOutputTokens, outputTokensFloor)) {
      return { kind: 'reserved', outputTokens, isRenewed: false }
    }
  }
  const { deps, agentId } = bench
  const { state } = bench.now()
  const { settled } = state
  const base = { at: deps.clock.now(), effectId: effect.id }
  if (!state.activationId) throw new Error('a renewal without an activation')
  const answer = await deps.hub.renew({
    agentId,
    activationId: state.activationId,
    now: base.at,
    spent: {
      microusd: state.microusd - (settled?.microusd ?? 0),
      tokens: state.tokens - (settled?.tokens ?? 0),
    },
    want: worstCase(plan, plan.request.maxOutputTokens),
    floor: worstCase(plan, outputTokensFloor),
  })
  if (answer.kind === 'refused') {
    return { kind: 'refused', event: { ...base, type: 'model_refused', reason: answer.reason } }
  }
  if (answer.kind === 'wait') {
    bench.waitReason = 'the money left is reserved by agents at work'
    return { kind: 'refused', event: { ...base, type: 'model_waited', retryAt: answer.retryAt } }
  }
  bench.grants = answer
  return {
    kind: 'reserved',
    outputTokens: affordableOutput(plan, answer.reservation),
    isRenewed: true,
  }
}

function worstCase({ model, promptTokens }: Plan, outputTokens: number): Reservation {
  const usage = { inputTokens: promptTokens, cachedTokens: 0, outputTokens, reasoningTokens: 0 }
  return {
    tokens: promptTokens + outputTokens,
    microusd: model.prices ? costOf(model.prices, usage) : 0,
  }
}

/** How long the answer may get so that prompt and answer stay within the reservation. */
function affordableOutput(plan: Plan, reservation: Reservation): number {
  const byTokens = reservation.tokens - plan.promptTokens
  const price = plan.model.prices?.output ?? 0
  const left = reservation.microusd - worstCase(plan, 0).microusd
  const byMoney = price > 0 ? Math.floor((left * 1_000_000) / price) : Number.POSITIVE_INFINITY
  return Math.max(0, Math.min(plan.request.maxOutputTokens, byTokens, byMoney))
}

const worstUsage = (plan: Plan): ModelUsage => ({
  inputTokens: plan.promptTokens,
  cachedTokens: 0,
  outputTokens: plan.request.maxOutputTokens,
  reasoningTokens: 0,
})

const estimateUsage = (plan: Plan, text: string, reasoning: string): ModelUsage => ({
  inputTokens: plan.promptTokens,
  cachedTokens: 0,
  outputTokens: Math.ceil((text.length + reasoning.length) / 4),
  reasoningTokens: Math.ceil(reasoning.length / 4),
})

function charge(model: Model, usage: ModelUsage, isEstimated: boolean, durationMs: number): Charge {
  return {
    ...usage,
    microusd: model.prices ? costOf(model.prices, usage) : 0,
    isPriced: model.prices !== null,
    isEstimated,
    durationMs,
  }
}
