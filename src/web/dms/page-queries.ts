import { isHubPausedSql } from '../../hub/activations/waiting'
import type { Db } from '../../hub/db'
import { type Credential, viewerParams, viewerSql } from '../../hub/keys/queries'

/** An agent that has not answered a message yet. Flags are 0 or 1. */
export interface PendingReplyRow {
  agentName: string
  /** Null before the activation has started. */
  activationId: string | null
  isParked: number
  isPaused: number
}

/** Selects the agent whose answer is pending in one of the viewer's conversations. */
export const selectPendingReply = (
  db: Db,
  credential: Credential,
  now: number,
  conversationId: string,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH viewer AS (${viewerSql})
       SELECT a.name AS agentName, x.id AS activationId, coalesce(x.state = 'parked', 0) AS isParked,
         (g.is_paused = 1 OR ${isHubPausedSql}) AS isPaused
       FROM inbox_items i JOIN accounts a ON a.id = i.account_id JOIN agents g ON g.account_id = a.id
       LEFT JOIN activations x ON x.id = i.claimed_by
       WHERE i.conversation_id = ?5 AND i.is_task = 1 AND i.read_at IS NULL
         AND i.from_account_id = (SELECT id FROM viewer)
       ORDER BY x.id IS NULL, i.created_at LIMIT 1`,
    )
    .bind(...viewerParams(credential, now), conversationId)
