import { scheduling } from '../../shared/config'
import { budgetsInScopeSql } from '../budgets/queries'
import { headroomSql } from '../budgets/scope-sql'
import type { BudgetStatus, RenewRequest, RenewResult } from '../contract/hub'
import type { Db } from '../db'
import { mergePolicy, readPolicyRow, selectPolicy } from '../grants/queries'
import { inboxDepthSql, isHubPausedSql } from './waiting'

/**
 * Records the amount spent, and extends the reservation for one more call when the budget allows: to the
 * amount spent so far plus `min(wanted, free)`. Otherwise everything but the amount spent is released
 * while this activation waits, so that waiting activations never block each other. While a row runs,
 * `cost_microusd` and `input_tokens` hold the amount spent.
 *
 * A late renewal, from a run that another run has taken over, changes nothing (`spent` only grows) or
 * repeats the current state (a reservation that fits never shrinks).
 *
 * `models` are the models called since the last settlement and the one about to be called: the budgets
 * of all of them are charged from now on.
 *
 * `?1` activation, `?2` agent, `?3` now, `?4` `?5` spent, `?6` `?7` wanted, `?8` `?9` floor, each in
 * micro-dollars and tokens, `?10` models.
 */
const extendSql = `
  WITH ask AS MATERIALIZED (
    SELECT x.id, max(?3, x.reserved_at) AS at, 0 AS candidate, x.agent_id, x.community_id, x.priority, coalesce(?10, x.models) AS models,
      x.settled_tokens + ?5 < coalesce(g.activation_tokens_max, ${Number.MAX_SAFE_INTEGER}) AS hasTokens
    FROM activations x JOIN agents g ON g.account_id = x.agent_id WHERE x.id = ?1)
  UPDATE activations SET cost_microusd = ?4, input_tokens = ?5, models = room.models, reserved_at = room.at,
    reserved_microusd = CASE WHEN room.fits
      THEN min(room.freeMicrousd, max(reserved_microusd, ?4 + ?6)) ELSE ?4 END,
    reserved_tokens = CASE WHEN room.fits
      THEN min(room.freeTokens, max(reserved_tokens, ?5 + ?7)) ELSE ?5 END
  FROM (SELECT ask.models, ask.at, r.freeMicrousd, r.freeTokens,
      ask.hasTokens AND r.leftMicrousd > ?4 AND r.leftTokens > ?5
        AND r.freeMicrousd - ?4 >= ?8 AND r.freeTokens - ?5 >= ?9 AS fits
    FROM ask JOIN (${headroomSql}) r ON r.candidate = ask.candidate) AS room
  WHERE activations.id = ?1 AND activations.state = 'running'
    AND activations.cost_microusd <= ?4 AND activations.input_tokens <= ?5`

const stateSql = `
  WITH ask AS MATERIALIZED (
    SELECT *, max(?3, reserved_at) AS at, 0 AS candidate FROM activations WHERE id = ?1)
  SELECT x.state, x.reserved_microusd AS reservedMicrousd, x.reserved_tokens AS reservedTokens,
    x.cost_microusd AS spentMicrousd, x.input_tokens AS spentTokens, x.settled_tokens AS settledTokens,
    a.activation_tokens_max AS tokensMax, a.is_paused AS isPaused, ${isHubPausedSql} AS isHubPaused,
    coalesce(room.leftMicrousd, 0) AS leftMicrousd, coalesce(room.leftTokens, 0) AS leftTokens,
    coalesce(room.freeMicrousd, 0) AS freeMicrousd, coalesce(room.freeTokens, 0) AS freeTokens,
    (SELECT count(*) FROM activations WHERE state = 'running') AS running,
    ${inboxDepthSql} AS inboxDepth
  FROM ask x JOIN agents a ON a.account_id = x.agent_id
  LEFT JOIN (${headroomSql}) AS room ON room.candidate = x.candidate`

interface StateRow {
  state: 'running' | 'parked' | 'done'
  reservedMicrousd: number
  reservedTokens: number
  spentMicrousd: number
  spentTokens: number
  /** Tokens of calls that were settled when the activation was parked. */
  settledTokens: number
  /** Token limit for all calls of one activation; null: only the loop's own limit applies. */
  tokensMax: number | null
  isPaused: number
  isHubPaused: number
  leftMicrousd: number
  leftTokens: number
  freeMicrousd: number
  freeTokens: number
  running: number
  inboxDepth: number
}

/**
 * Checks whether an activation can make one more model call, and renews its reservation, in one round
 * trip: pause, fence, budget, policy and environment.
 */
export async function renew(db: Db, request: RenewRequest): Promise<RenewResult> {
  const { activationId, agentId, now, spent, want, floor, models } = request
  const results = await db.d1.batch<unknown>([
    db.d1
      .prepare(extendSql)
      .bind(
        activationId,
        agentId,
        now,
        spent.microusd,
        spent.tokens,
        want.microusd,
        want.tokens,
        floor.microusd,
        floor.tokens,
        models === undefined ? null : JSON.stringify(models),
      ),
    db.d1.prepare(stateSql).bind(activationId, agentId, now),
    selectPolicy(db, agentId),
    db.d1.prepare(budgetsInScopeSql).bind(agentId, now),
  ])
  const state = results[1]?.results[0] as StateRow | undefined
  if (state?.state !== 'running' || isTakenOver(state, request)) {
    return { kind: 'refused', reason: 'lost' }
  }
  if (state.isPaused || state.isHubPaused) return { kind: 'refused', reason: 'paused' }
  if (state.tokensMax !== null && state.settledTokens + spent.tokens >= state.tokensMax) {
    return { kind: 'refused', reason: 'max_tokens' }
  }
  const refusal = findRefusal(state, request)
  if (refusal) return refusal
  return {
    kind: 'renewed',
    reservation: {
      microusd: state.reservedMicrousd - spent.microusd,
      tokens: state.reservedTokens - spent.tokens,
    },
    policy: mergePolicy(readPolicyRow(results[2]?.results ?? [])),
    budgets: (results[3]?.results ?? []) as BudgetStatus[],
    environment: { inboxDepth: state.inboxDepth, runningActivations: state.running },
  }
}

/** Whether another run resumed this activation: it has spent more than this run reports. */
const isTakenOver = (state: StateRow, { spent }: RenewRequest): boolean =>
  state.spentMicrousd > spent.microusd || state.spentTokens > spent.tokens

/** Whether the amount, less what is spent, is enough for one more call. */
const hasEnough = (microusd: number, tokens: number, { spent, floor }: RenewRequest): boolean =>
  microusd - spent.microusd >= floor.microusd && tokens - spent.tokens >= floor.tokens

/** Whether the budget is used up. Then no model runs, not even one that costs nothing. */
const isUsedUp = ({ leftMicrousd, leftTokens }: StateRow, { spent }: RenewRequest): boolean =>
  leftMicrousd <= spent.microusd || leftTokens <= spent.tokens

function findRefusal(state: StateRow, request: RenewRequest): RenewResult | null {
  if (isUsedUp(state, request) || !hasEnough(state.leftMicrousd, state.leftTokens, request)) {
    return { kind: 'refused', reason: 'budget_exhausted' }
  }
  if (hasEnough(state.freeMicrousd, state.freeTokens, request)) return null
  const retryAt = request.now + scheduling.capacityRetryMs
  return { kind: 'wait', reason: 'money_reserved', retryAt }
}
