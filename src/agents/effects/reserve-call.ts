import { outputTokensFloor } from '../loop/estimate'
import type { LoopEventOf } from '../loop/event'
import { affordableOutput, type CallPlan, worstCase } from './price-call'
import { loadedFacts, type Workbench } from './workbench'

/** Usual answers are shorter: a cap below this is worth a round trip to ask for more. */
const outputTokensUsual = 1_024

type Refusal =
  | Pick<LoopEventOf<'model_refused'>, 'type' | 'reason'>
  | Pick<LoopEventOf<'model_waited'>, 'type' | 'retryAt'>

export type Room =
  | { kind: 'reserved'; outputTokens: number; isRenewed: boolean }
  | { kind: 'refused'; event: Refusal }

/**
 * Makes sure that the call's worst case is reserved, and clamps its output to what is (B4). The
 * first call uses LOAD's reservation when that is enough and for this model, so a mention answered
 * without tools needs no further round trip (L37).
 */
export async function reserve(
  bench: Workbench,
  plan: CallPlan,
  { mustRenew }: { mustRenew: boolean },
): Promise<Room> {
  const facts = loadedFacts(bench.now().events)
  const isReserved = plan.model.id === (facts?.modelOverride ?? facts?.reservedModel)
  if (!mustRenew && isReserved && bench.grants) {
    const outputTokens = affordableOutput(plan, bench.grants.reservation)
    if (outputTokens >= Math.min(plan.request.maxOutputTokens, outputTokensUsual)) {
      return { kind: 'reserved', outputTokens, isRenewed: false }
    }
  }
  const { deps, agentId } = bench
  const { state } = bench.now()
  const { settled } = state
  if (!state.activationId) throw new Error('a renewal without an activation')
  const answer = await deps.hub.renew({
    agentId,
    activationId: state.activationId,
    now: deps.clock.now(),
    spent: {
      microusd: state.microusd - (settled?.microusd ?? 0),
      tokens: state.tokens - (settled?.tokens ?? 0),
    },
    want: worstCase(plan, plan.request.maxOutputTokens),
    floor: worstCase(plan, outputTokensFloor),
    models: [...new Set([...listCalled(bench), plan.model.id])],
  })
  if (answer.kind === 'refused') {
    return { kind: 'refused', event: { type: 'model_refused', reason: answer.reason } }
  }
  if (answer.kind === 'wait') {
    bench.waitReason = 'the money left is reserved by agents at work'
    return { kind: 'refused', event: { type: 'model_waited', retryAt: answer.retryAt } }
  }
  bench.grants = answer
  return {
    kind: 'reserved',
    outputTokens: affordableOutput(plan, answer.reservation),
    isRenewed: true,
  }
}

/** Their budgets have not heard of what was spent yet. */
const listCalled = (bench: Workbench): string[] =>
  bench.now().events.flatMap((event) => ('charge' in event && event.charge?.model) || [])
