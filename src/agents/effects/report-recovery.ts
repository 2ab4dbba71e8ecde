import type { ModelFailure } from '../loop/message'
import type { EffectContext } from './effect-context'

/** Failures that do not show whether the provider is back. */
const inconclusive: readonly ModelFailure['code'][] = ['TIMEOUT', 'CANCELLED', 'HUB_UNREACHABLE']

/**
 * Reports that a provider that was down has answered, and wakes the agents that wait for it. Only
 * the run that was resumed to try it does. A lost report is made up for by the next attempt.
 */
export async function reportRecovery(
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
