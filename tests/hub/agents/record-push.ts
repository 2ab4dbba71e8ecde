import type { HubApi } from '../../../src/hub/contract/hub'
import type { AccountId, ActivationId } from '../../../src/shared/ids'

/** Records a push of a run to a branch of github.com/acme/tools as the gateway does: before it, and after it. */
export async function recordPush(
  hubApi: HubApi,
  run: { agentId: AccountId; activationId: ActivationId },
  { ref, isOk, at }: { ref: string; isOk: boolean; at: number },
): Promise<void> {
  const { id } = await hubApi.recordIntent(
    run.agentId,
    {
      callId: 'c',
      tool: 'git_push',
      grant: 'g',
      argumentsHash: 'h',
      decision: 'allowed',
      outcome: null,
      durationMs: null,
      resultBytes: null,
      at,
      arguments: JSON.stringify({
        service: 'github',
        repository: 'acme/tools',
        refs: [{ ref, old: '0'.repeat(40), new: '1'.repeat(40), may_be_forced: false }],
      }),
    },
    run.activationId,
  )
  const outcome = isOk ? 'ok' : 'error'
  await hubApi.recordResult(id, { outcome, durationMs: 5, resultBytes: 1 })
}
