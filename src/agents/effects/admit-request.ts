import { codingAgents } from '../../shared/config'
import type {
  ModelPlace,
  ModelRequestAdmission,
  ModelRequestFacts,
  ModelRequestRefusal,
} from '../contract/coding-agents'
import { sharedProtocols } from '../executors/programs'
import { decideRequest } from '../loop/admit-request'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import type { Model } from '../models/model-port'
import { protocolsOf } from '../models/model-protocols'
import { type EffectContext, notifyWatchers, resolveModel } from './effect-context'
import { type PricedCall, worstCaseCharge } from './price-call'
import { toPricedRequest } from './price-request'
import { readWork, type Work } from './read-work'
import { reserveRequest } from './reserve-request'

interface Desk {
  /** Whether the request is of the current attempt of a program that works. */
  isCurrent(): boolean
  apply(event: LoopEvent): void
}

/** Admits a program's model request: within the limits, with its worst case reserved and written down. */
export async function admitRequest(
  context: EffectContext,
  facts: ModelRequestFacts,
  desk: Desk,
): Promise<ModelRequestAdmission> {
  if (!desk.isCurrent()) return refuse('not_running')
  const read = await readWork(context, 0)
  const { program } = context.getActivation().state
  if (!read.ok || !program || !desk.isCurrent()) return refuse('not_running')
  const { model } = resolveModel(context, read.work.definition, read.work.facts)
  if (!canUse(read.work, model, facts)) return refuse('wrong_model')
  const decision = decide(context, read.work, model, facts)
  if (decision.kind === 'not_running') return refuse('not_running')
  if (decision.kind === 'wait') {
    return refuseForNow('max_tokens', context.deps.clock.now() + codingAgents.retryMs)
  }
  if (decision.kind === 'refused') return end(context, desk, { reason: decision.reason })
  const call = toPricedRequest(model, facts.promptTokensMax, decision.outputTokens)
  const reservation = await reserveRequest(context, call, program)
  if (!desk.isCurrent()) return refuse('not_running')
  if (reservation.kind === 'wait') return refuseForNow('budget_exhausted', reservation.retryAt)
  if (reservation.kind === 'refused') return end(context, desk, reservation.refusal)
  call.request.maxOutputTokens = reservation.outputTokens
  const { maySteer } = reservation
  return record(context, desk, call, { facts, maySteer, place: read.work.definition.brain })
}

/** Ends the run with a refusal. */
function end(
  { deps, getActivation }: EffectContext,
  { apply }: Desk,
  refusal: Pick<LoopEventOf<'request_refused'>, 'reason' | 'shortage' | 'needs'>,
): ModelRequestAdmission {
  const attempt = getActivation().state.program?.attempt ?? 0
  apply({ type: 'request_refused', at: deps.clock.now(), attempt, ...refusal })
  return refuse(refusal.reason === 'lost' ? 'not_running' : refusal.reason)
}

/** Writes the request down before it is sent; the loop may have decided meanwhile that there is none. */
function record(
  context: EffectContext,
  { apply }: Desk,
  call: PricedCall,
  { facts, maySteer, place }: { facts: ModelRequestFacts; maySteer: boolean; place: ModelPlace },
): ModelRequestAdmission {
  const { program } = context.getActivation().state
  if (!program) return refuse('not_running')
  const request = program.requests + 1
  notifyWatchers(context, 'thinking')
  apply({
    type: 'request_admitted',
    at: context.deps.clock.now(),
    attempt: program.attempt,
    request,
    protocol: facts.protocol,
    worst: worstCaseCharge(call),
    ...(maySteer && { maySteer: true }),
  })
  const { open = [] } = context.getActivation().state.program ?? {}
  if (!open.some((each) => each.request === request)) return refuse('not_running')
  const outputTokens = call.request.maxOutputTokens
  return {
    ok: true,
    request,
    model: call.model.id,
    outputTokens,
    place,
    connections: context.connections ?? [],
  }
}

const decide = (
  { deps, getActivation }: EffectContext,
  { definition }: Work,
  model: Model,
  facts: ModelRequestFacts,
) => {
  const outputTokensMax = Math.min(model.outputTokensMax, definition.limits.outputTokens)
  return decideRequest(getActivation().state, facts, outputTokensMax, deps.clock.now())
}

/** Whether the model's provider speaks the protocol of the request, and so does the program. */
const canUse = ({ facts }: Work, { provider }: Model, { protocol }: ModelRequestFacts): boolean =>
  facts.program !== undefined &&
  sharedProtocols(facts.program.type, protocolsOf(provider)).includes(protocol)

/** Messages for the program, which shows them to its log. */
const messages: Record<ModelRequestRefusal, string> = {
  not_running: 'This run is over.',
  wrong_model: "The run's model is not reached in this protocol.",
  max_iterations: 'The run has made all the model requests that its definition allows.',
  max_tokens: 'The run has used the tokens that its definition allows.',
  max_duration: 'The run has reached its time limit.',
  budget_exhausted: 'The budget of the run is used up.',
  paused: 'The agent is paused.',
  no_tools: "The program has not listed the hub's tools.",
}

const refuse = (reason: ModelRequestRefusal): ModelRequestAdmission => ({
  ok: false,
  reason,
  message: messages[reason],
})

/** The same request may be admitted later. */
const refuseForNow = (
  reason: 'max_tokens' | 'budget_exhausted',
  retryAt: number,
): ModelRequestAdmission => ({
  ok: false,
  reason,
  message: 'Too many requests are in flight. Retry in a moment.',
  retryAt,
})
