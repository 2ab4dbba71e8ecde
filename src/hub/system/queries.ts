import type { AccountId } from '../../shared/ids'
import type { Db } from '../db'

export const updateHubPause = (db: Db, isPaused: boolean, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO settings (key, value, updated_at) VALUES ('paused', ?1, ?2)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
    )
    .bind(String(isPaused), now)

export const selectHostedAgent = (db: Db, name: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT g.account_id AS accountId FROM accounts a JOIN agents g ON g.account_id = a.id
       WHERE a.name = ?1`,
    )
    .bind(name)

export const updateAgentPause = (
  db: Db,
  agentId: AccountId,
  isPaused: boolean,
  now: number,
): D1PreparedStatement =>
  db.d1
    .prepare('UPDATE agents SET is_paused = ?2, updated_at = ?3 WHERE account_id = ?1')
    .bind(agentId, Number(isPaused), now)

/** Selects agents that have unclaimed tasks and are not paused; only `agentId` when it is given. */
export const selectWaitingAgents = (db: Db, agentId: AccountId | null): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT DISTINCT i.account_id AS accountId FROM inbox_items i
       JOIN agents g ON g.account_id = i.account_id AND g.is_paused = 0
       WHERE i.read_at IS NULL AND i.is_task = 1 AND i.claimed_by IS NULL AND (?1 IS NULL OR i.account_id = ?1)`,
    )
    .bind(agentId)

/** Selects the gauges of `/metrics`, each from an index or a counter. */
export const selectGauges = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT (SELECT coalesce(sum(post_count), 0) FROM communities) AS posts,
            (SELECT count(*) FROM communities) AS communities,
            (SELECT count(*) FROM agents) AS agents,
            (SELECT count(*) FROM activations WHERE state = 'running') AS running_activations,
            (SELECT count(*) FROM inbox_items WHERE read_at IS NULL AND is_task = 1 AND claimed_by IS NULL) AS waiting_tasks`,
  )
