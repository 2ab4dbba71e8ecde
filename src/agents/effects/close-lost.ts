import type { ActivationId } from '../../shared/ids'
import { toModelFields } from './activation-record'
import type { EffectContext } from './effect-context'

/**
 * Ends an activation of this agent whose journal is lost. It fails and is charged what it had
 * reserved and not settled, to the budgets of the model that it reserved for: which models it
 * called is unknown.
 */
export async function closeLostActivation(
  { deps, agentId }: EffectContext,
  activationId: ActivationId,
  reserved: { microusd: number; tokens: number; model: string } | null,
): Promise<void> {
  const now = deps.clock.now()
  await deps.hub.commit({
    agentId,
    activationId,
    now,
    outcome: 'failed',
    hasReadUntrusted: true,
    error: { code: 'LOST', message: 'The record of this activation was lost.' },
    reply: null,
    report: null,
    iterations: 0,
    usage: reserved
      ? [
          {
            // 0 is not used by real calls, which may have been settled when the activation parked
            call: 0,
            ...toModelFields(reserved.model),
            inputTokens: reserved.tokens,
            cachedTokens: 0,
            outputTokens: 0,
            reasoningTokens: 0,
            costMicrousd: reserved.microusd,
            isPriced: true,
            isEstimated: true,
            durationMs: 0,
            at: now,
          },
        ]
      : [],
    tools: [],
    audit: [],
    trace: '{}',
    model: reserved?.model ?? 'unknown',
  })
}
