import type { ActivationId } from '../../shared/ids'
import type { Db } from '../db'

/** Selects a running activation with its agent. */
export const selectRunning = (db: Db, id: ActivationId): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT a.id, a.name, a.kind, x.post_id AS postId, g.definition_etag AS etag
       FROM activations x
       JOIN accounts a ON a.id = x.agent_id
       JOIN agents g ON g.account_id = a.id
       WHERE x.id = ?1 AND x.state = 'running'`,
    )
    .bind(id)
