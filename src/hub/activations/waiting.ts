import type { Db } from '../db'

/** Waiting agents that a commit wakes: its own slot is free, and some slack. */
const waitingMax = 3
const waitingLookMax = 200

/** Whether an admin paused all agents (H21). */
export const isHubPausedSql = `EXISTS (SELECT 1 FROM settings WHERE key = 'paused' AND value = 'true')`

/**
 * Whether an inbox item is work that nobody has begun. A decision is work only while what it decides
 * about is parked.
 */
export const isWaitingSql = (item: string): string => `
  ${item}.read_at IS NULL AND ${item}.is_task = 1 AND ${item}.claimed_by IS NULL
  AND (${item}.type <> 'approval_decision'
    OR EXISTS (SELECT 1 FROM activations p WHERE p.id = ${item}.activation_id AND p.state = 'parked'))`

/**
 * Whether what waits only ends a parked activation that was asked to stop. Nothing but its commit
 * runs then, so no pause keeps it.
 */
export const isEndingSql = (item: string): string => `
  (${item}.type = 'approval_decision' AND EXISTS (SELECT 1 FROM activations p
    WHERE p.id = ${item}.activation_id AND p.state = 'parked' AND p.cancel_requested_at IS NOT NULL))`

/** How many tasks wait for the agent `?2`. */
export const inboxDepthSql = `
  (SELECT count(*) FROM inbox_items d WHERE d.account_id = ?2 AND ${isWaitingSql('d')})`

/**
 * Agents with tasks that nobody claimed and that could run now, the longest waiting first. It looks
 * at the oldest tasks only, so that a flood of them does not make every commit dear; the sweep finds
 * who is behind it.
 */
export const selectWaiting = (db: Db): D1PreparedStatement =>
  db.d1.prepare(`
    SELECT i.account_id AS id, min(i.created_at) AS since FROM (
      SELECT account_id, created_at FROM inbox_items w
      WHERE ${isWaitingSql('w')} AND NOT ${isHubPausedSql}
      ORDER BY created_at LIMIT ${waitingLookMax}) i
    JOIN agents a ON a.account_id = i.account_id AND a.is_paused = 0
    WHERE NOT EXISTS (SELECT 1 FROM activations x WHERE x.agent_id = i.account_id AND x.state = 'running')
    GROUP BY i.account_id ORDER BY since LIMIT ${waitingMax}`)
