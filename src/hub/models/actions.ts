import type { TrialResult } from '../../agents/contract/agents'
import { outside } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { trialErrors } from './errors'
import { selectLostCalls } from './queries'
import { callOnce, closeLostCalls } from './single-call'

export interface TriedModel extends TrialResult {
  /** `provider/model`. */
  model: string
}

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
    lost: selectLostCalls({ now }),
  })
  await closeLostCalls(context, lost)
  const plan = agents.models.planTrial(model, connections)
  const entry = recordAdminAction(context, accountId, {
    ...{ action: 'model.test', targetType: 'model', targetId: plan.model },
  })
  const tried = await callOnce(
    context,
    { ...plan, agentId: accountId, accountId, timeoutMs: outside.timeoutMs },
    entry,
    async () => {
      const result = await agents.models.tryModel(model, connections)
      return { ...result, usages: result.usage ? [result.usage] : [] }
    },
  )
  if (tried.kind === 'refused') throw trialRefusals[tried.reason]()
  const { usages: _, ...result } = tried.result
  return { model: plan.model, ...result }
}

const trialRefusals = {
  paused: trialErrors.paused,
  running: trialErrors.running,
  budget: trialErrors.noBudget,
}
