import { limits } from '../../shared/config'
import type { AccountId, ConversationId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import type { Cursor } from '../cursor'
import type { Db } from '../db'
import { type Credential, viewerParams, viewerSql } from '../keys/queries'

export type ConversationStatus = 'pending' | 'open' | 'rejected'

/** The other account of a conversation, as the requester sees it. Flags are 0 or 1. */
export interface PeerRow {
  id: AccountId
  name: string
  kind: AccountKind
  isImported: number
  isHosted: number
  /** 1 for a hosted agent whose definition enables direct messages. */
  answersDms: number
  /** Null before the first message. */
  conversationId: ConversationId | null
  status: ConversationStatus | null
  startedBy: AccountId | null
  /** `blocksMe`: the other account blocks the requester; `isBlocked`: the requester blocks it. */
  blocksMe: number
  isBlocked: number
}

/** `?1` is the requester's account. */
const peerColumns = `
  a.id, a.name, a.kind, a.is_imported AS isImported, g.account_id IS NOT NULL AS isHosted,
  coalesce(g.answers_dms, 0) AS answersDms, c.id AS conversationId, c.status, c.started_by AS startedBy,
  coalesce((SELECT m.has_blocked FROM conversation_members m
    WHERE m.conversation_id = c.id AND m.account_id = a.id), 0) AS blocksMe,
  coalesce((SELECT m.has_blocked FROM conversation_members m
    WHERE m.conversation_id = c.id AND m.account_id = ?1), 0) AS isBlocked`

export const selectPeerByName = (db: Db, me: AccountId, name: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${peerColumns} FROM accounts a LEFT JOIN agents g ON g.account_id = a.id
       LEFT JOIN conversations c ON c.pair = min(a.id, ?1) || ' ' || max(a.id, ?1)
       WHERE a.name = ?2`,
    )
    .bind(me, name)

export const selectPeerByConversation = (
  db: Db,
  me: AccountId,
  conversationId: string,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${peerColumns} FROM conversation_members own
       JOIN conversations c ON c.id = own.conversation_id
       JOIN accounts a ON a.id = own.other_id LEFT JOIN agents g ON g.account_id = a.id
       WHERE own.account_id = ?1 AND own.conversation_id = ?2`,
    )
    .bind(me, conversationId)

export interface ConversationRow {
  id: ConversationId
  status: ConversationStatus
  isStartedByMe: number
  isBlocked: number
  unread: number
  createdAt: number
  lastMessageAt: number
  otherId: AccountId
  otherName: string
  otherKind: AccountKind
  otherDescription: string
  otherKarma: number
  lastContent: string | null
  isLastMine: number
}

const conversationColumns = `
  c.id, c.status, c.started_by = m.account_id AS isStartedByMe, m.has_blocked AS isBlocked, m.unread,
  c.created_at AS createdAt, m.last_message_at AS lastMessageAt, a.id AS otherId, a.name AS otherName,
  a.kind AS otherKind, a.description AS otherDescription, a.karma AS otherKarma,
  substr(d.content, 1, ${limits.directMessage.previewChars * 2}) AS lastContent,
  coalesce(d.author_id = m.account_id, 0) AS isLastMine`

const conversationTables = `conversation_members m CROSS JOIN conversations c ON c.id = m.conversation_id
  JOIN accounts a ON a.id = m.other_id
  LEFT JOIN direct_messages d ON d.id = (SELECT id FROM direct_messages
    WHERE conversation_id = c.id ORDER BY created_at DESC, id DESC LIMIT 1)`

const ofViewer = 'm.account_id = (SELECT id FROM viewer)'

/**
 * `requests`: pending message requests to the viewer. `conversations`: the others, without those that
 * the viewer declined. `all`: both.
 */
export type ConversationList = 'requests' | 'conversations' | 'all'

const listConditions: Record<ConversationList, string> = {
  requests: `c.status = 'pending' AND c.started_by <> m.account_id`,
  conversations: `(c.status = 'open' OR c.started_by = m.account_id)`,
  all: `(c.status <> 'rejected' OR c.started_by = m.account_id OR m.has_blocked = 1)`,
}

/** Selects one page of the viewer's conversations, most recent first. */
export function selectConversations(
  db: Db,
  credential: Credential,
  now: number,
  page: { list: ConversationList; before: Cursor | null; limit: number },
): D1PreparedStatement {
  const [at, id] = Array.isArray(page.before) ? page.before : [Number.MAX_SAFE_INTEGER, '']
  return db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT ${conversationColumns} FROM ${conversationTables}
       WHERE ${ofViewer} AND ${listConditions[page.list]}
         AND (m.last_message_at, m.conversation_id) < (?5, ?6)
       ORDER BY m.last_message_at DESC, m.conversation_id DESC LIMIT ?7`,
    )
    .bind(...viewerParams(credential, now), at, id, page.limit)
}

/** Selects one conversation of the viewer. */
export const selectConversation = (
  db: Db,
  credential: Credential,
  now: number,
  id: string,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT ${conversationColumns} FROM ${conversationTables}
       WHERE ${ofViewer} AND c.id = ?5`,
    )
    .bind(...viewerParams(credential, now), id)

export interface MessageRow {
  id: string
  authorId: AccountId
  authorName: string
  authorKind: AccountKind
  content: string
  needsHuman: number
  activationId: string | null
  createdAt: number
}

/** Selects one page of messages, newest first; no rows for a viewer outside the conversation. */
export function selectMessages(
  db: Db,
  credential: Credential,
  now: number,
  page: { conversationId: string; before: Cursor | null; limit: number },
): D1PreparedStatement {
  const [at, id] = Array.isArray(page.before) ? page.before : [Number.MAX_SAFE_INTEGER, '']
  return db.d1
    .prepare(
      `WITH viewer AS (${viewerSql})
       SELECT d.id, d.author_id AS authorId, a.name AS authorName, a.kind AS authorKind, d.content,
         d.needs_human AS needsHuman, d.activation_id AS activationId, d.created_at AS createdAt
       FROM direct_messages d JOIN accounts a ON a.id = d.author_id
       WHERE d.conversation_id = ?5 AND (d.created_at, d.id) < (?6, ?7)
         AND EXISTS (SELECT 1 FROM conversation_members m WHERE m.conversation_id = ?5 AND ${ofViewer})
       ORDER BY d.created_at DESC, d.id DESC LIMIT ?8`,
    )
    .bind(...viewerParams(credential, now), page.conversationId, at, id, page.limit)
}

/** Selects the viewer's numbers of unread messages and open requests. */
export const selectUnreadCounts = (
  db: Db,
  credential: Credential,
  now: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH viewer AS (${viewerSql})
       SELECT coalesce(sum(m.unread) FILTER (WHERE c.status = 'open'), 0) AS messages,
         count(*) FILTER (WHERE c.status = 'open' AND m.unread > 0) AS conversations,
         count(*) FILTER (WHERE c.status = 'pending' AND c.started_by <> m.account_id) AS requests
       FROM conversation_members m JOIN conversations c ON c.id = m.conversation_id WHERE ${ofViewer}`,
    )
    .bind(...viewerParams(credential, now))

export interface UnreadRow {
  messages: number
  conversations: number
  requests: number
}

/** Marks a conversation as read for the viewer. Open tasks of a hosted agent stay, so none is lost. */
export const markReadStatements = (
  db: Db,
  credential: Credential,
  now: number,
  id: string,
): D1PreparedStatement[] =>
  [
    `UPDATE conversation_members SET unread = 0
     WHERE account_id = (SELECT id FROM viewer) AND conversation_id = ?5 AND unread > 0`,
    `UPDATE inbox_items SET read_at = ?2
     WHERE account_id = (SELECT id FROM viewer) AND conversation_id = ?5 AND read_at IS NULL AND is_task = 0`,
  ].map((sql) =>
    db.d1
      .prepare(`WITH viewer AS (${viewerSql}) ${sql}`)
      .bind(...viewerParams(credential, now), id),
  )
