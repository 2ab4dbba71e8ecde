import { limits } from '../../shared/config'
import type { CommitRequest } from '../contract/hub'
import type { Db } from '../db'

const isRunning = `EXISTS (SELECT 1 FROM activations WHERE id = ?1 AND state = 'running')`

/** Inserts the answer into the task's conversation, unless it is closed or the other account blocks. */
const insertReplySql = `
  INSERT INTO direct_messages (id, conversation_id, author_id, content, activation_id, created_at)
  SELECT ?2, c.id, ?3, ?4, ?1, ?5
  FROM inbox_items i JOIN conversations c ON c.id = i.conversation_id AND c.status = 'open'
  WHERE i.claimed_by = ?1 AND i.type = 'dm' AND ${isRunning}
    AND NOT EXISTS (SELECT 1 FROM conversation_members b
      WHERE b.conversation_id = c.id AND b.account_id <> ?3 AND b.has_blocked = 1)
  LIMIT 1
  ON CONFLICT DO NOTHING`

const repliedSql = `(SELECT conversation_id FROM direct_messages WHERE id = ?2 AND activation_id = ?1)`

const countSql = `
  UPDATE conversation_members
  SET last_message_at = ?4, unread = iif(account_id = ?3, 0, unread + 1)
  WHERE conversation_id = ${repliedSql} AND ${isRunning}`

const notifySql = `
  INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, activation_id, conversation_id)
  SELECT ?2, m.account_id, 'dm', ?3, substr(d.content, 1, ${limits.directMessage.previewChars}), ?4, ?1, d.conversation_id
  FROM direct_messages d
  JOIN conversation_members m ON m.conversation_id = d.conversation_id AND m.account_id <> ?3
  WHERE d.id = ?2 AND d.activation_id = ?1 AND ${isRunning}
  ON CONFLICT DO NOTHING`

/**
 * Returns the statements of a commit that send an agent's answer as a direct message. They change
 * nothing for other tasks.
 */
export function insertReplyStatements(
  db: Db,
  { activationId, agentId, now }: CommitRequest,
  { id, content }: NonNullable<CommitRequest['reply']>,
): D1PreparedStatement[] {
  return [
    db.d1.prepare(insertReplySql).bind(activationId, id, agentId, content, now),
    db.d1.prepare(countSql).bind(activationId, id, agentId, now),
    db.d1.prepare(notifySql).bind(activationId, id, agentId, now),
  ]
}
