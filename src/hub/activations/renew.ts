import { scheduling } from '../../config'
import { budgetsInScopeSql, roomSql } from '../budgets/queries'
import type { BudgetStatus, RenewAnswer, RenewRequest } from '../contract'
import type { Db } from '../db'
import { readPolicy } from './load'
import type { PolicyRow } from './load-queries'

/**
 * Extends the reservation for one more call if it still runs, nothing is paused and the money is
 * there: what it has spent so far, and `min(wanted, free)` on top (B4). `?1` activation, `?2`
 * agent, `?3` now, `?4` `?5` spent, `?6` `?7` wanted, `?8` `?9` floor, each in micro-dollars and
 * tokens.
 */
const extendSql = `
  UPDATE activations SET
    reserved_microusd = ?4 + min(?6, room.freeMicrousd - ?4),
    reserved_tokens = ?5 + min(?7, room.freeTokens - ?5)
  FROM (${roomSql}) AS room
  WHERE activations.id = ?1 AND activations.state = 'running'
    AND room.freeMicrousd - ?4 >= ?8 AND room.freeTokens - ?5 >= ?9
    AND NOT EXISTS (SELECT 1 FROM settings WHERE key = 'paused' AND value = 'true')
    AND NOT EXISTS (SELECT 1 FROM agents WHERE account_id = ?2 AND is_paused = 1)`

const stateSql = `
  SELECT x.state, x.reserved_microusd AS reservedMicrousd, x.reserved_tokens AS reservedTokens,
    a.grants, a.is_paused AS isPaused,
    EXISTS (SELECT 1 FROM settings WHERE key = 'paused' AND value = 'true') AS isHubPaused,
    room.leftMicrousd, room.leftTokens, room.freeMicrousd, room.freeTokens,
    (SELECT count(*) FROM activations WHERE state = 'running') AS running,
    (SELECT count(*) FROM inbox_items WHERE account_id = ?2 AND read_at IS NULL AND is_task = 1
      AND claimed_by IS NULL) AS inboxDepth
  FROM activations x JOIN agents a ON a.account_id = x.agent_id, (${roomSql}) AS room
  WHERE x.id = ?1`

interface StateRow {
  state: 'running' | 'done'
  reservedMicrousd: number
  reservedTokens: number
  grants: string
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
 * The check before every further model call, in one round trip: pause, fence, money, policy and
 * environment (L37, H21).
 */
export async function renew(db: Db, request: RenewRequest): Promise<RenewAnswer> {
  const { activationId, agentId, now, spent, want, floor } = request
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
      ),
    db.d1.prepare(stateSql).bind(activationId, agentId, now),
    db.d1
      .prepare(
        `SELECT account_id AS accountId, allowed, denied FROM grant_policies WHERE account_id IN ('*', ?1)`,
      )
      .bind(agentId),
    db.d1.prepare(budgetsInScopeSql).bind(agentId, now),
  ])
  const state = results[1]?.results[0] as StateRow | undefined
  if (state?.state !== 'running') return { kind: 'refused', reason: 'lost' }
  if (state.isPaused || state.isHubPaused) return { kind: 'refused', reason: 'paused' }
  if (results[0]?.meta.changes === 0) return explainRefusal(state, request)
  return {
    kind: 'renewed',
    reservation: {
      microusd: state.reservedMicrousd - spent.microusd,
      tokens: state.reservedTokens - spent.tokens,
    },
    policy: readPolicy((results[2]?.results ?? []) as PolicyRow[], state.grants),
    budgets: (results[3]?.results ?? []) as BudgetStatus[],
    environment: { inboxDepth: state.inboxDepth, runningActivations: state.running },
  }
}

function explainRefusal(state: StateRow, { spent, floor, now }: RenewRequest): RenewAnswer {
  const isGone =
    state.leftMicrousd - spent.microusd < floor.microusd ||
    state.leftTokens - spent.tokens < floor.tokens
  if (isGone) return { kind: 'refused', reason: 'budget_exhausted' }
  return { kind: 'wait', reason: 'money_reserved', retryAt: now + scheduling.capacityRetryMs }
}
