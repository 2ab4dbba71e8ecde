import { scheduling } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { findShortage } from '../budgets/find-shortage'
import { selectBudgetsInScope } from '../budgets/queries'
import type { BudgetStatus, ModelStore, RenewRequest, RenewResult } from '../contract/hub'
import { mergePolicy, selectPolicy } from '../grants/queries'
import { toNullInHold } from '../hold-errors'
import { type Extension, extend, type StateRow, selectState } from './renew-queries'
import { steerStatements } from './steer-queries'

/**
 * Checks whether an activation can make one more model call, and renews its reservation, in one round
 * trip: pause, fence, budget, policy and environment. It also takes the comments that arrived for the run.
 */
export async function renew(
  { db, models }: { db: Db; models: ModelStore },
  request: RenewRequest,
): Promise<RenewResult> {
  const { agentId, activationId, now, spent } = request
  const answers = await batch(db, {
    extend: extend(toExtension(request)),
    state: selectState(models)(request),
    policy: selectPolicy(agentId, activationId),
    budgets: selectBudgetsInScope(agentId, now),
    ...steerStatements({ agentId, activationId, now }),
  }).catch(toNullInHold)
  if (!answers) return { kind: 'wait', reason: 'backup', retryAt: now + scheduling.capacityRetryMs }
  const { state, policy, budgets, steering } = answers
  if (state?.state !== 'running' || isTakenOver(state, request)) {
    return { kind: 'refused', reason: 'lost' }
  }
  if (state.isPaused || state.isHubPaused) return { kind: 'refused', reason: 'paused' }
  if (state.tokensMax !== null && state.settledTokens + spent.tokens >= state.tokensMax) {
    return { kind: 'refused', reason: 'max_tokens' }
  }
  const refusal = findRefusal(state, request, budgets)
  if (refusal) return refusal
  return {
    kind: 'renewed',
    reservation: {
      microusd: state.reservedMicrousd - spent.microusd,
      tokens: state.reservedTokens - spent.tokens,
    },
    policy: mergePolicy(policy),
    budgets,
    environment: { inboxDepth: state.inboxDepth, runningActivations: state.running },
    ...(state.connections !== null && { connections: models.readConnections(state.connections) }),
    ...(steering.length > 0 && { steering }),
  }
}

const toExtension = (request: RenewRequest): Extension => ({
  activationId: request.activationId,
  now: request.now,
  spentMicrousd: request.spent.microusd,
  spentTokens: request.spent.tokens,
  wantMicrousd: request.want.microusd,
  wantTokens: request.want.tokens,
  floorMicrousd: request.floor.microusd,
  floorTokens: request.floor.tokens,
  heldMicrousd: request.held?.microusd ?? 0,
  heldTokens: request.held?.tokens ?? 0,
  models: request.models === undefined ? null : JSON.stringify(request.models),
})

/** Whether another run resumed this activation: it has spent more than this run reports. */
const isTakenOver = (state: StateRow, { spent }: RenewRequest): boolean =>
  state.spentMicrousd > spent.microusd || state.spentTokens > spent.tokens

/** Whether the amount, less what is spent, is enough for one more call. */
const hasEnough = (microusd: number, tokens: number, { spent, floor }: RenewRequest): boolean =>
  microusd - spent.microusd >= floor.microusd && tokens - spent.tokens >= floor.tokens

/** Whether the budget is used up. Then no model runs, not even one that costs nothing. */
const isUsedUp = ({ leftMicrousd, leftTokens }: StateRow, { spent }: RenewRequest): boolean =>
  leftMicrousd <= spent.microusd || leftTokens <= spent.tokens

function findRefusal(
  state: StateRow,
  request: RenewRequest,
  budgets: BudgetStatus[],
): RenewResult | null {
  if (isUsedUp(state, request) || !hasEnough(state.leftMicrousd, state.leftTokens, request)) {
    const { spent, floor } = request
    const left = {
      microusd: state.leftMicrousd - spent.microusd,
      tokens: state.leftTokens - spent.tokens,
    }
    const shortage = findShortage(budgets, floor, left)
    return { kind: 'refused', reason: 'budget_exhausted', ...(shortage && { shortage }) }
  }
  if (hasEnough(state.freeMicrousd, state.freeTokens, request)) return null
  const retryAt = request.now + scheduling.capacityRetryMs
  return { kind: 'wait', reason: 'money_reserved', retryAt }
}
