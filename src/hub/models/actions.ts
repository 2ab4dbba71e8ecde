import type { CallUsage, TrialResult } from '../../agents/contract/agents'
import { outside } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { ActivationId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { chargeStatements } from '../activations/usage-queries'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { trialErrors } from './errors'
import { deleteTrial, reserveTrial, selectLostTrials, selectTrial } from './queries'

export interface TriedModel extends TrialResult {
  /** `provider/model`. */
  model: string
}

/** Time after the timeout of a call until its reservation counts as lost. */
const graceMs = 60_000

/**
 * Makes one short call to test a model: its worst case is reserved from the budgets of the hub and of the
 * admin, as for any other call, and what it took is charged.
 *
 * @throws VALIDATION for a model that this hub cannot call; CONFLICT when no budget has the money
 */
export async function tryModel(
  context: ActionContext,
  actor: Actor,
  model: string,
): Promise<TriedModel> {
  const { db, clock, agents, models } = context
  const { accountId } = actor
  const now = clock.now()
  const { connections, lost } = await batch(db, {
    connections: models.selectConnections(),
    lost: selectLostTrials({ now }),
  })
  for (const { id, model: called, microusd, tokens } of lost) {
    await finishTrial(context, id, called, toLostUsage(microusd, tokens))
  }
  const plan = agents.models.planTrial(model, connections)
  const id = clock.newId<ActivationId>()
  const deadlineAt = now + outside.timeoutMs + graceMs
  const { state } = await batch(db, {
    reserve: reserveTrial({ ...plan, id, accountId, now, deadlineAt }),
    state: selectTrial({ id, accountId }),
    entry: recordAdminAction(context, accountId, {
      ...{ action: 'model.test', targetType: 'model', targetId: plan.model },
    }),
  })
  if (!state?.isAdmitted) {
    if (state?.isHubPaused) throw trialErrors.paused()
    throw state?.isOtherRunning ? trialErrors.running() : trialErrors.noBudget()
  }
  const result = await agents.models.tryModel(model, connections)
  await finishTrial(context, id, plan.model, result.usage)
  return { model: plan.model, ...result }
}

/** Charges a test call and releases its reservation. */
async function finishTrial(
  { db, clock }: ActionContext,
  activationId: ActivationId,
  model: string,
  used: CallUsage | null,
): Promise<void> {
  const usage = used
    ? [
        {
          ...{ call: 1, executor: model.split('/')[0] ?? model, model, at: clock.now() },
          ...{ inputTokens: used.inputTokens, cachedTokens: used.cachedTokens },
          ...{ outputTokens: used.outputTokens, reasoningTokens: used.reasoningTokens },
          ...{ costMicrousd: used.microusd, durationMs: used.durationMs },
          ...{ isPriced: used.isPriced, isEstimated: used.isEstimated },
        },
      ]
    : []
  await batch(db, {
    charge: chargeStatements({ activationId, usage, now: clock.now() }),
    release: deleteTrial(activationId),
  })
}

/** A call whose end is unknown is charged in full. */
const toLostUsage = (microusd: number, tokens: number): CallUsage => ({
  ...{ inputTokens: tokens, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  ...{ microusd, isPriced: true, isEstimated: true, durationMs: 0 },
})
