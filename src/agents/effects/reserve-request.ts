import type { RenewResult, Reservation } from '../../hub/contract/hub'
import { sumOpen } from '../loop/admit-request'
import type { LoopEventOf } from '../loop/event'
import type { ProgramState } from '../loop/program-state'
import { type EffectContext, findLoadedFacts } from './effect-context'
import { affordableOutputTokens, type PricedCall, worstCaseReservation } from './price-call'
import { outputTokensLeast, renewReservation } from './reserve-call'
import { findNewItems } from './steer'

export type RequestReservation =
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
export async function reserveRequest(
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
