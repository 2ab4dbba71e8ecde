import type { EffectContext } from './effect-context'
import { type CallPlan, toPartialCharge } from './price-call'

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
  }
}
