import type { RenewResult, Reservation, SteeringItem } from '../../hub/contract/hub'
import type { LoopEventOf } from '../loop/event'
import { findNewItems } from './commit'
import { type EffectContext, findLoadedFacts } from './effect-context'
import {
  affordableOutputTokens,
  type CallPlan,
  toPartialCharge,
  worstCaseReservation,
} from './price-call'

/** Most answers are shorter than this. A lower limit is worth a round trip to reserve more. */
const outputTokensUsual = 1_024

/** A call is refused only when not even an answer of this length fits what is unspent. */
export const outputTokensLeast = 256

/** Why a call waits, for people. */
const waitReasons = {
  money_reserved: 'the remaining budget is reserved by running agents',
  backup: 'a backup is being written',
} as const

type Refusal =
  | Pick<LoopEventOf<'model_refused'>, 'type' | 'reason' | 'shortage' | 'needs'>
  | Pick<LoopEventOf<'model_waited'>, 'type' | 'retryAt'>
  | Pick<LoopEventOf<'steered'>, 'type' | 'items'>

/** The result of a reservation: the tokens that the answer may have, or the event that ends or delays the call. */
export type ReservationResult =
  | {
      kind: 'reserved'
      outputTokens: number
      isRenewed: boolean
      /** Comments that joined the run since its last call. */
      joined?: SteeringItem[]
    }
  | { kind: 'refused'; event: Refusal }

/**
 * Reserves the worst case of a call, and limits its answer to what is reserved. The first call uses
 * the reservation of LOAD when that is sufficient and for this model, so a mention answered without
 * tools needs no further round trip.
 */
export async function reserveCall(
  context: EffectContext,
  plan: CallPlan,
  { mustRenew }: { mustRenew: boolean },
): Promise<ReservationResult> {
  const facts = findLoadedFacts(context.getActivation().events)
  const isReserved = plan.model.id === (facts?.modelOverride ?? facts?.reservedModel)
  if (!mustRenew && isReserved && context.hubSnapshot) {
    const outputTokens = affordableOutputTokens(plan, context.hubSnapshot.reservation)
    if (outputTokens >= Math.min(plan.request.maxOutputTokens, outputTokensUsual)) {
      return { kind: 'reserved', outputTokens, isRenewed: false }
    }
  }
  const floor = worstCaseReservation(
    plan,
    Math.min(outputTokensLeast, plan.request.maxOutputTokens),
  )
  const want = worstCaseReservation(plan, plan.request.maxOutputTokens)
  const answer = await renewReservation(context, { want, floor }, plan.model.id)
  if (answer.kind === 'refused') {
    return { kind: 'refused', event: toRefusal(answer, floor) }
  }
  if (answer.kind === 'wait') {
    context.waitReason = waitReasons[answer.reason]
    return { kind: 'refused', event: { type: 'model_waited', retryAt: answer.retryAt } }
  }
  return {
    kind: 'reserved',
    outputTokens: affordableOutputTokens(plan, answer.reservation),
    isRenewed: true,
    ...(answer.steering && { joined: findNewItems(context, answer.steering) }),
  }
}

/** Renews the reservation for calls of a model, and keeps what the hub returns with it. */
export async function renewReservation(
  context: EffectContext,
  { want, floor, held }: { want: Reservation; floor: Reservation; held?: Reservation },
  modelId: string,
): Promise<RenewResult> {
  const { deps, agentId } = context
  const { state } = context.getActivation()
  const { settled } = state
  if (!state.activationId) throw new Error('renewal without an activation')
  const answer = await deps.hub.renew({
    agentId,
    activationId: state.activationId,
    now: deps.clock.now(),
    spent: {
      microusd: state.microusd - (settled?.microusd ?? 0),
      tokens: state.tokens - (settled?.tokens ?? 0),
    },
    want,
    floor,
    ...(held && { held }),
    models: [...new Set([...listCalledModels(context), modelId])],
  })
  if (answer.kind === 'renewed') {
    context.hubSnapshot = answer
    context.connections = answer.connections ?? []
  }
  return answer
}

const toRefusal = (
  answer: Extract<RenewResult, { kind: 'refused' }>,
  needs: Reservation,
): Refusal => ({
  type: 'model_refused',
  reason: answer.reason,
  ...(answer.reason === 'budget_exhausted' && {
    needs,
    ...(answer.shortage && { shortage: answer.shortage }),
  }),
})

/** Returns the models called so far, whose budgets do not include the latest costs yet. */
const listCalledModels = (context: EffectContext): string[] =>
  context
    .getActivation()
    .events.flatMap((event) => ('charge' in event && event.charge?.model) || [])

/**
 * Measures a call while it is in flight, so that a stopped one is charged its prompt and what has
 * arrived of its answer.
 */
export function watchUsage(
  context: EffectContext,
  plan: CallPlan,
  effectId: number,
  startedAt: number,
): void {
  let chars = 0
  plan.request.onProgress = (arrived) => {
    chars = arrived
  }
  context.inFlight = {
    effectId,
    measure: () => toPartialCharge(plan, { chars }, context.deps.clock.now() - startedAt),
    text: '',
  }
}
