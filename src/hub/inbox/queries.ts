import type { AccountId, ActivationId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import type { AccountKind, Person } from '../contract/hub'
import type { Db } from '../db'
import { type Credential, viewerParams, viewerSql } from '../keys/queries'
import type { PostedContent } from '../mentions/queries'
import { mentionLimitSql, remainingAgentRepliesSql } from '../reply-limits/reply-limit-sql'
import type { InboxType } from './schema'

/** A post or comment that creates inbox items. */
interface Delivery extends PostedContent {
  authorKind: AccountKind
  excerpt: string
}

/**
 * Inserts an inbox item for each account that `insertMentions` of the same batch found. The item is a
 * task for a hosted agent that answers mentions. A mention is the only way in which an agent wakes an
 * agent, and only below the reply limits. Authors get no item for their own mention, and the system
 * account wakes no agent.
 *
 * @param items a new id for each candidate name, in the order of the names
 */
export const insertMentionItems = (
  db: Db,
  source: Delivery,
  items: { id: InboxItemId; name: string }[],
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO inbox_items (id, account_id, type, post_id, comment_id, from_account_id, content, created_at,
         is_task, hops, refusal)
       SELECT id, to_id, 'mention', ?1, ?2, ?3, ?4, ?5, answers AND brake IS NULL, hops, iif(answers, brake, NULL)
       FROM (SELECT *, CASE WHEN ?6 = 'agent' THEN ${mentionLimitSql(
         { from: '?3', to: 'to_id', now: '?5' },
         {
           hops: 'hops',
           room: remainingAgentRepliesSql('?1'),
           nth: 'sum(answers) OVER (ORDER BY nth)',
         },
       )} END AS brake
         FROM (SELECT n.key AS nth, n.value ->> 'id' AS id, a.id AS to_id,
             coalesce(g.answers_mentions, 0) = 1 AND ?6 <> 'system' AS answers,
             iif(?6 = 'agent', 1 + coalesce((SELECT hops FROM comments WHERE id = ?2),
               (SELECT hops FROM posts WHERE id = ?1)), 0) AS hops
           FROM json_each(?7) n
           CROSS JOIN accounts a ON a.name = n.value ->> 'name'
           JOIN mentions m ON m.post_id = ?1 AND m.comment_id = coalesce(?2, '') AND m.account_id = a.id
           LEFT JOIN agents g ON g.account_id = a.id
           WHERE a.id <> ?3 AND a.is_imported = 0))`,
    )
    .bind(
      source.postId,
      source.commentId,
      source.authorId,
      source.excerpt,
      source.at,
      source.authorKind,
      JSON.stringify(items),
    )

/**
 * Inserts an inbox item for the author that a comment replies to, unless the comment mentions that
 * author. The item is a task when a person replies to a hosted agent that answers replies. A task is
 * always a `reply`, also below the agent's post.
 */
export const insertReplyItem = (
  db: Db,
  source: Delivery,
  item: { id: InboxItemId; to: AccountId; type: Extract<InboxType, 'reply' | 'comment'> },
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO inbox_items (id, account_id, type, post_id, comment_id, from_account_id, content, created_at, is_task)
       SELECT ?1, a.id, iif(coalesce(g.answers_replies, 0) = 1 AND ?2 = 'human', 'reply', ?3),
              ?4, ?5, ?6, ?7, ?8, coalesce(g.answers_replies, 0) = 1 AND ?2 = 'human'
       FROM accounts a LEFT JOIN agents g ON g.account_id = a.id
       WHERE a.id = ?9 AND a.id <> ?6 AND a.kind <> 'system' AND a.is_imported = 0
         AND NOT EXISTS (SELECT 1 FROM mentions m
           WHERE m.post_id = ?4 AND m.comment_id = ?5 AND m.account_id = a.id)`,
    )
    .bind(
      item.id,
      source.authorKind,
      item.type,
      source.postId,
      source.commentId,
      source.authorId,
      source.excerpt,
      source.at,
      item.to,
    )

/** An agent for which an item was inserted: woken by a task, or not woken with the reason. */
export interface WakeResult {
  accountId: AccountId
  name: string
  /** Why the agent was not woken; null when it was woken. */
  refusal: string | null
}

/** Selects the hosted agents that these items wake, and those that a reply limit kept from waking. */
export const selectWakeResults = (db: Db, itemIds: InboxItemId[]): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT DISTINCT i.account_id AS accountId, a.name, i.refusal
       FROM inbox_items i JOIN accounts a ON a.id = i.account_id
       WHERE i.id IN (SELECT value FROM json_each(?1)) AND (i.is_task = 1 OR i.refusal IS NOT NULL)`,
    )
    .bind(JSON.stringify(itemIds))

/** An inbox item with its sender and post. */
export interface InboxRow {
  id: InboxItemId
  type: InboxType
  postId: PostId | null
  commentId: CommentId | null
  content: string
  createdAt: number
  readAt: number | null
  fromId: Person['id'] | null
  fromName: string | null
  fromKind: AccountKind | null
  postTitle: string | null
  conversationId: string | null
}

const itemColumns = `
  i.id, i.type, i.post_id AS postId, i.comment_id AS commentId, i.content, i.created_at AS createdAt,
  i.read_at AS readAt, f.id AS fromId, f.name AS fromName, f.kind AS fromKind, p.title AS postTitle,
  i.conversation_id AS conversationId`

/** Filter and page of an inbox. */
export interface InboxPageRequest {
  isUnread: boolean
  /** Keyset: time and id of the last item seen. */
  before: [number, string] | null
  limit: number
}

const farFuture = 9_000_000_000_000_000

/**
 * Selects a page of the viewer's inbox, newest first. The viewer is a subquery, so authentication costs
 * no extra round trip.
 */
export const selectOwnItems = (
  db: Db,
  credential: Credential,
  now: number,
  page: InboxPageRequest,
): D1PreparedStatement => {
  const [at, id] = page.before ?? [farFuture, '']
  return db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT ${itemColumns}
       FROM inbox_items i LEFT JOIN accounts f ON f.id = i.from_account_id LEFT JOIN posts p ON p.id = i.post_id
       WHERE i.account_id = (SELECT id FROM viewer) AND (i.created_at, i.id) < (?5, ?6)
         ${page.isUnread ? 'AND i.read_at IS NULL' : ''}
       ORDER BY i.created_at DESC, i.id DESC LIMIT ?7`,
    )
    .bind(...viewerParams(credential, now), at, id, page.limit)
}

/**
 * Whether the activation `?3` can read an item. Of private items it reads only those of its own
 * conversation and task, because its reply may be public.
 */
const isReadableSql = `(?3 IS NULL OR NOT (i.type = 'dm' OR coalesce(i.task, '') = 'manual')
  OR i.claimed_by = ?3 OR i.conversation_id IN (SELECT own.conversation_id FROM inbox_items own
    WHERE own.claimed_by = ?3 AND own.conversation_id IS NOT NULL))`

/** Selects the newest items of an account, for tools. */
export const selectItems = (
  db: Db,
  accountId: AccountId,
  activationId: ActivationId | null,
  limit: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${itemColumns}
       FROM inbox_items i LEFT JOIN accounts f ON f.id = i.from_account_id LEFT JOIN posts p ON p.id = i.post_id
       WHERE i.account_id = ?1 AND ${isReadableSql} ORDER BY i.created_at DESC, i.id DESC LIMIT ?2`,
    )
    .bind(accountId, limit, activationId)

/** Counts the unread items of the viewer's inbox. */
export const countOwnUnread = (db: Db, credential: Credential, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT count(*) AS unread FROM inbox_items
       WHERE account_id = (SELECT id FROM viewer) AND read_at IS NULL`,
    )
    .bind(...viewerParams(credential, now))

/**
 * Marks items as read. An agent's open task stays unread: only the commit of an activation consumes it,
 * so that no task is lost.
 */
const markRead = (condition: string) => `
  UPDATE inbox_items SET read_at = ?2
  WHERE account_id = ?1 AND read_at IS NULL AND is_task = 0 AND ${condition}`

/** Marks the given items as read. */
export const markItemsRead = (
  db: Db,
  accountId: AccountId,
  now: number,
  ids: string[],
): D1PreparedStatement =>
  db.d1
    .prepare(markRead('id IN (SELECT value FROM json_each(?3))'))
    .bind(accountId, now, JSON.stringify(ids))

/** Marks all items of an account as read. */
export const markAllItemsRead = (db: Db, accountId: AccountId, now: number): D1PreparedStatement =>
  db.d1.prepare(markRead('1')).bind(accountId, now)

/** Marks the items of a post as read. */
export const markPostItemsRead = (
  db: Db,
  accountId: AccountId,
  now: number,
  postId: string,
): D1PreparedStatement => db.d1.prepare(markRead('post_id = ?3')).bind(accountId, now, postId)
