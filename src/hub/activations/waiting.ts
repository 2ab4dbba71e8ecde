import type { Db } from '../db'

/** Waiting agents that a commit wakes at most: one for its own slot, plus some slack. */
const waitingMax = 3
const waitingLookMax = 200

/** Whether an admin paused all agents. */
export const isHubPausedSql = `EXISTS (SELECT 1 FROM settings WHERE key = 'paused' AND value = 'true')`

/**
 * Whether an inbox item is a task that no activation has claimed. An approval decision is a task only
 * while its activation is parked.
 */
export const isWaitingSql = (item: string): string => `
  ${item}.read_at IS NULL AND ${item}.is_task = 1 AND ${item}.claimed_by IS NULL
  AND (${item}.type <> 'approval_decision'
    OR EXISTS (SELECT 1 FROM activations p WHERE p.id = ${item}.activation_id AND p.state = 'parked'))`

/**
 * Whether an inbox item only ends a parked activation that was cancelled. Only its commit runs then, so a
 * pause does not delay it.
 */
export const isPendingCancellationSql = (item: string): string => `
  (${item}.type = 'approval_decision' AND EXISTS (SELECT 1 FROM activations p
    WHERE p.id = ${item}.activation_id AND p.state = 'parked' AND p.cancel_requested_at IS NOT NULL))`

/** The number of tasks that wait for the agent `?2`. */
export const inboxDepthSql = `
  (SELECT count(*) FROM inbox_items d WHERE d.account_id = ?2 AND ${isWaitingSql('d')})`

/**
 * Selects agents with unclaimed tasks that can run now, the longest waiting first. Only the oldest tasks
 * are read, so that a large backlog does not slow down every commit; the sweep finds the other agents.
 */
export const selectAgentsToWake = (db: Db): D1PreparedStatement =>
  db.d1.prepare(`
    SELECT i.account_id AS id, min(i.created_at) AS since FROM (
      SELECT account_id, created_at FROM inbox_items w
      WHERE ${isWaitingSql('w')} AND NOT ${isHubPausedSql}
      ORDER BY created_at LIMIT ${waitingLookMax}) i
    JOIN agents a ON a.account_id = i.account_id AND a.is_paused = 0
    WHERE NOT EXISTS (SELECT 1 FROM activations x WHERE x.agent_id = i.account_id AND x.state = 'running')
    GROUP BY i.account_id ORDER BY since LIMIT ${waitingMax}`)
