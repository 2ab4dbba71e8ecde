import type { AccountId, ConversationId, InboxItemId } from '../../shared/ids'
import type { Db } from '../db'
import type { ConversationStatus } from './queries'

/** Inserts the one conversation of two accounts; fails when they have one already. */
export const insertConversation = (
  db: Db,
  conversation: {
    id: ConversationId
    from: AccountId
    to: AccountId
    status: ConversationStatus
    now: number
  },
): D1PreparedStatement[] => {
  const { id, from, to, status, now } = conversation
  return [
    db.d1
      .prepare(
        `INSERT INTO conversations (id, pair, started_by, status, created_at)
         VALUES (?1, min(?2, ?3) || ' ' || max(?2, ?3), ?2, ?4, ?5)`,
      )
      .bind(id, from, to, status, now),
    db.d1
      .prepare(
        `INSERT INTO conversation_members (account_id, conversation_id, other_id, last_message_at)
         VALUES (?2, ?1, ?3, ?4), (?3, ?1, ?2, ?4)`,
      )
      .bind(id, from, to, now),
  ]
}

export interface NewMessage {
  id: string
  conversationId: ConversationId
  from: AccountId
  to: AccountId
  content: string
  needsHuman: boolean
  itemId: InboxItemId
  /** The text for the recipient's inbox: the whole message of a task, otherwise its beginning. */
  inboxText: string
  /** The message wakes the agent that receives it. */
  isTask: boolean
  now: number
}

/** Inserts a message, counts it as unread for the recipient and adds it to their inbox. */
export const insertMessage = (db: Db, message: NewMessage): D1PreparedStatement[] => {
  const { id, conversationId, from, to, content, needsHuman, itemId, inboxText, isTask, now } =
    message
  return [
    db.d1
      .prepare(
        `INSERT INTO direct_messages (id, conversation_id, author_id, content, needs_human, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
      )
      .bind(id, conversationId, from, content, Number(needsHuman), now),
    db.d1
      .prepare(
        `UPDATE conversation_members SET last_message_at = ?3, unread = unread + (account_id <> ?2)
         WHERE conversation_id = ?1`,
      )
      .bind(conversationId, from, now),
    db.d1
      .prepare(
        `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, conversation_id)
         VALUES (?1, ?2, 'dm', ?3, ?4, ?5, ?6, ?7)`,
      )
      .bind(itemId, to, from, inboxText, now, Number(isTask), conversationId),
  ]
}

export const updateStatus = (
  db: Db,
  id: ConversationId,
  status: ConversationStatus,
): D1PreparedStatement =>
  db.d1.prepare('UPDATE conversations SET status = ?2 WHERE id = ?1').bind(id, status)

export const updateBlock = (
  db: Db,
  id: ConversationId,
  by: AccountId,
  hasBlocked: boolean,
): D1PreparedStatement =>
  db.d1
    .prepare(
      'UPDATE conversation_members SET has_blocked = ?3 WHERE conversation_id = ?1 AND account_id = ?2',
    )
    .bind(id, by, Number(hasBlocked))
