import type { CallUsage } from '../../agents/contract/agents'
import { batch, repeatAfterFault } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { chargeStatements } from '../activations/usage-queries'
import {
  deleteSingleCall,
  type LostCall,
  reserveSingleCall,
  type SingleCall,
  selectSingleCall,
} from './queries'

/** Time after the timeout of a call until its reservation counts as lost. */
const graceMs = 60_000

/** A call outside of runs, with the most that it can take. */
export interface PlannedCall extends Pick<SingleCall, 'model' | 'microusd' | 'tokens'> {
  agentId: AccountId
  accountId: AccountId
  timeoutMs: number
}

export type SingleCallResult<Result> =
  | { kind: 'called'; result: Result }
  | { kind: 'refused'; reason: 'paused' | 'running' | 'budget' }

/**
 * Makes a model call outside of runs: its worst case is reserved from all budgets that would pay for a run of the
 * same account and requester, and what it took is charged.
 *
 * @param entry is written with the reservation, also when that is refused
 */
export async function callOnce<Result extends { usages: CallUsage[] }>(
  context: ActionContext,
  { timeoutMs, ...planned }: PlannedCall,
  entry: Statement<unknown> | null,
  call: () => Promise<Result>,
): Promise<SingleCallResult<Result>> {
  const { db, clock } = context
  const now = clock.now()
  const id = clock.newId<ActivationId>()
  const deadlineAt = now + timeoutMs + graceMs
  const { state } = await batch(db, {
    reserve: reserveSingleCall({ ...planned, id, now, deadlineAt }),
    state: selectSingleCall({ id, agentId: planned.agentId }),
    entry,
  })
  if (!state?.isAdmitted) {
    const reason = state?.isHubPaused ? 'paused' : state?.isOtherRunning ? 'running' : 'budget'
    return { kind: 'refused', reason }
  }
  const result = await call()
  await finishCall(context, id, planned.model, result.usages)
  return { kind: 'called', result }
}

/** Charges calls in full whose end is unknown. */
export async function closeLostCalls(context: ActionContext, lost: LostCall[]): Promise<void> {
  for (const { id, model, microusd, tokens } of lost) {
    const usage = { inputTokens: tokens, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 }
    const facts = { microusd, isPriced: true, isEstimated: true, durationMs: 0 }
    await finishCall(context, id, model, [{ ...usage, ...facts }])
  }
}

/** Charges a call and releases its reservation. Sent again after a fault, it finds nothing that runs. */
async function finishCall(
  { db, clock }: ActionContext,
  activationId: ActivationId,
  model: string,
  usages: CallUsage[],
): Promise<void> {
  const usage = usages.map((used, index) => ({
    ...{ call: index + 1, executor: model.split('/')[0] ?? model, model, at: clock.now() },
    ...{ inputTokens: used.inputTokens, cachedTokens: used.cachedTokens },
    ...{ outputTokens: used.outputTokens, reasoningTokens: used.reasoningTokens },
    ...{ costMicrousd: used.microusd, durationMs: used.durationMs },
    ...{ isPriced: used.isPriced, isEstimated: used.isEstimated },
  }))
  const now = clock.now()
  await repeatAfterFault(() =>
    batch(db, {
      charge: chargeStatements({ activationId, usage, now }),
      release: deleteSingleCall(activationId),
    }),
  )
}
