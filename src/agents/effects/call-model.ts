import { statusTail } from '../context/status-tail'
import type { Definition } from '../definitions/definition'
import type { Effect } from '../loop/effect'
import type { LoadedFacts, LoopEvent } from '../loop/event'
import type { Message } from '../loop/message'
import { buildTranscript } from '../loop/transcript'
import { estimateTokens } from '../models/estimate-tokens'
import { type CallPlan, chargeOf, estimateUsage, worstCharge } from './price-call'
import { outputTokensFloor, reserve } from './reserve-call'
import {
  announce,
  listTools,
  loadedFacts,
  readDefinition,
  resolveModel,
  type Workbench,
} from './workbench'

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
  if (room.kind !== 'reserved') return { at: deps.clock.now(), effectId: effect.id, ...room.event }
  if (signal.aborted) return null
  plan.request.maxOutputTokens = room.outputTokens
  if (room.isRenewed) tellWhatHoldsNow(bench, facts, plan)
  announce(bench, 'thinking')
  const startedAt = deps.clock.now()
  const worst = worstCharge(plan)
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
  const usage = answer.usage ?? estimateUsage(plan, answer)
  return {
    ...base,
    type: 'model_answered',
    answer,
    charge: chargeOf(plan.model, usage, answer.usage === null, at - startedAt),
    calls: answer.calls.map(({ callId, name }) => ({
      callId,
      isSequential: deps.tools.describe(name)?.isSequential ?? false,
    })),
  }
}

/** The call itself; its words go to those who watch as they come (L22). */
async function callWatched({ stream, now }: Workbench, { model, request }: CallPlan) {
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
): CallPlan {
  const { model } = resolveModel(bench, definition, facts)
  const messages = buildTranscript(bench.now().events)
  messages.push(describeStatus(bench))
  const tools = listTools(bench, facts)
  const { temperature, topP } = definition.brain
  const promptTokens = estimateTokens(messages, tools)
  return {
    model,
    promptTokens,
    request: {
      messages,
      tools,
      maxOutputTokens: Math.min(
        model.outputTokensMax,
        definition.limits.outputTokens,
        // providers refuse a prompt and an answer that together exceed the window
        Math.max(outputTokensFloor, model.contextTokens - promptTokens),
      ),
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

/** A renewal brings the policy and the budgets as they are now. */
function tellWhatHoldsNow(bench: Workbench, facts: LoadedFacts, { request }: CallPlan): void {
  request.messages[request.messages.length - 1] = describeStatus(bench)
  request.tools = listTools(bench, facts)
}
