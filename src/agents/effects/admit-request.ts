import type { RenewResult, Reservation } from '../../hub/contract/hub'
import { codingAgents } from '../../shared/config'
import type {
  ModelPlace,
  ModelRequestAdmission,
  ModelRequestFacts,
  ModelRequestRefusal,
  ModelRequestResult,
} from '../contract/coding-agents'
import { sharedProtocols } from '../definitions/executors'
import type { Charge, LoopEvent, LoopEventOf } from '../loop/event'
import { decideRequest, sumOpen } from '../loop/program'
import type { OpenRequest, ProgramState } from '../loop/state'
import { protocolsOf } from '../models/choose-model'
import type { Model } from '../models/model-port'
import { findNewItems } from './commit'
import {
  type EffectContext,
  findLoadedFacts,
  notifyWatchers,
  readWork,
  resolveModel,
  type Work,
} from './effect-context'
import {
  affordableOutputTokens,
  type PricedCall,
  toCountedCharge,
  worstCaseCharge,
  worstCaseReservation,
} from './price-call'
import { outputTokensLeast, renewReservation } from './reserve-call'

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
    ...(!isNameOf(call.model, facts.model) && { isAside: true }),
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

/** Whether a program asks for the run's model: `provider/model` without or with its provider. */
const isNameOf = ({ id }: Pick<Model, 'id'>, asked: string): boolean =>
  asked === id || asked === id.slice(id.indexOf('/') + 1)

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

type RequestReservation =
  /** The answer may have at least one token. */
  | { kind: 'reserved'; outputTokens: number; maySteer: boolean }
  | { kind: 'wait'; retryAt: number }
  | {
      kind: 'refused'
      refusal: Pick<LoopEventOf<'request_refused'>, 'reason' | 'shortage' | 'needs'>
    }

/**
 * Reserves the worst case of a program's model request beside that of its open requests, whose usage is not known
 * yet. The first one uses the reservation of LOAD where that is sufficient.
 */
async function reserveRequest(
  context: EffectContext,
  call: PricedCall,
  program: ProgramState,
): Promise<RequestReservation> {
  const { state, events } = context.getActivation()
  const facts = findLoadedFacts(events)
  const wanted = call.request.maxOutputTokens
  const isFirst = program.requests === 0 && state.settled === null
  const isReserved = call.model.id === (facts?.modelOverride ?? facts?.reservedModel)
  if (isFirst && isReserved && context.hubSnapshot) {
    const outputTokens = affordableOutputTokens(call, context.hubSnapshot.reservation)
    if (outputTokens >= wanted) return { kind: 'reserved', outputTokens, maySteer: false }
  }
  const open = sumOpen(program)
  const withOpen = (outputTokens: number) => {
    const { tokens, microusd } = worstCaseReservation(call, outputTokens)
    return { tokens: tokens + open.tokens, microusd: microusd + open.microusd }
  }
  const floor = withOpen(Math.min(outputTokensLeast, wanted))
  const money = { want: withOpen(wanted), floor, held: open }
  const answer = await renewReservation(context, money, call.model.id)
  if (answer.kind === 'wait') return { kind: 'wait', retryAt: answer.retryAt }
  if (answer.kind === 'refused') return toRefusal(answer, floor)
  const { tokens, microusd } = answer.reservation
  const outputTokens = affordableOutputTokens(call, {
    tokens: tokens - open.tokens,
    microusd: microusd - open.microusd,
  })
  if (outputTokens < 1) return toRefusal({ kind: 'refused', reason: 'budget_exhausted' }, floor)
  const maySteer = findNewItems(context, answer.steering ?? []).length > 0
  return { kind: 'reserved', outputTokens, maySteer }
}

/** @param needs the least that the request needs of a budget */
function toRefusal(
  answer: Extract<RenewResult, { kind: 'refused' }>,
  needs: Reservation,
): RequestReservation {
  const { reason } = answer
  if (reason !== 'budget_exhausted') return { kind: 'refused', refusal: { reason } }
  const { shortage } = answer
  return { kind: 'refused', refusal: { reason, needs, ...(shortage && { shortage }) } }
}

/** Returns a program's request for its price. The upper bound of its prompt is reserved. */
export const toPricedRequest = (
  model: PricedCall['model'],
  promptTokensMax: number,
  maxOutputTokens: number,
): PricedCall => ({
  model,
  request: { maxOutputTokens },
  promptTokens: promptTokensMax,
  promptTokensMax,
  wideBytes: 0,
  ratio: { mean: 1, high: 1 },
})

/**
 * Returns the charge of a request: what its provider counted. Without a count it is the worst case that was reserved,
 * since nobody knows how far the provider came; null when it bills nothing.
 *
 * @param model null when it is not known any more
 */
export function toRequestCharge(
  model: Pick<Model, 'id' | 'prices'> | null,
  { worst }: Pick<OpenRequest, 'worst'>,
  { usage, mayBeCharged }: Pick<ModelRequestResult, 'usage' | 'mayBeCharged'>,
  durationMs: number,
): Charge | null {
  if (usage === null && !mayBeCharged) return null
  // The prices that were reserved are those of the model at that time.
  if (usage === null || !model || model.id !== worst.model) return { ...worst, durationMs }
  return toCountedCharge(model, worst, usage, durationMs)
}
