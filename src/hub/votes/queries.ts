import type { AccountId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import type { Db } from '../db'
import { type Credential, viewerParams, viewerSql } from '../keys/queries'
import { tenfoldSeconds } from '../posts/hot-rank'

/** The post or comment to vote on; `commentId` is null for the post itself. */
export interface VoteTarget {
  postId: PostId
  commentId: CommentId | null
  authorId: AccountId
  authorName: string
  authorKind: AccountKind
  upvotes: number
  downvotes: number
  /** The current vote of this account: 1, -1, or 0 for none. */
  value: -1 | 0 | 1
}

const targetColumns = (of: 'p' | 'c', commentId: string) => `
  p.id AS postId, ${commentId} AS commentId, a.id AS authorId, a.name AS authorName,
  a.kind AS authorKind, ${of}.upvotes, ${of}.downvotes,
  coalesce((SELECT v.value FROM votes v WHERE v.account_id = ?2 AND v.post_id = p.id
    AND v.comment_id = coalesce(${commentId}, '')), 0) AS value`

export const selectTarget = (
  db: Db,
  kind: 'post' | 'comment',
  id: string,
  voter: AccountId,
): D1PreparedStatement =>
  db.d1
    .prepare(
      kind === 'post'
        ? `SELECT ${targetColumns('p', 'NULL')} FROM posts p JOIN accounts a ON a.id = p.author_id
           WHERE p.id = ?1 AND p.deleted_at IS NULL`
        : `SELECT ${targetColumns('c', 'c.id')}
           FROM comments c JOIN posts p ON p.id = c.post_id JOIN accounts a ON a.id = c.author_id
           WHERE c.id = ?1 AND c.deleted_at IS NULL AND p.deleted_at IS NULL`,
    )
    .bind(id, voter)

export interface Vote {
  target: VoteTarget
  voter: AccountId
  value: -1 | 0 | 1
  itemId: InboxItemId
  now: number
}

/** The current vote; `?1` is the voter, `?2` the post, `?3` the comment or '', `?4` the new value. */
const currentVoteSql = `coalesce((SELECT v.value FROM votes v
  WHERE v.account_id = ?1 AND v.post_id = ?2 AND v.comment_id = ?3), 0)`

const countsSql = `upvotes = upvotes + (?4 = 1) - (${currentVoteSql} = 1),
  downvotes = downvotes + (?4 = -1) - (${currentVoteSql} = -1)`

/** The SQL form of `computeHotRank`; SQLite's `log` has base 10. */
const scoreSql = `(upvotes - downvotes + ?4 - ${currentVoteSql})`
const hotRankSql = `((${scoreSql} > 0) - (${scoreSql} < 0)) * log(max(abs(${scoreSql}), 1))
  + created_at / 1000.0 / ${tenfoldSeconds}`

const countOnPostSql = `
  UPDATE posts SET ${countsSql}, hot_rank = ${hotRankSql} WHERE id = ?2 AND ?3 = '' AND ${currentVoteSql} <> ?4`
const countOnCommentSql = `
  UPDATE comments SET ${countsSql} WHERE id = ?3 AND ${currentVoteSql} <> ?4`
const karmaSql = `
  UPDATE accounts SET karma = karma + ?4 - ${currentVoteSql} WHERE id = ?5 AND ${currentVoteSql} <> ?4`

/**
 * Notifies the author of the score, in one item until they read it. The item does not name the
 * voter, and removing a vote notifies nobody.
 */
const notifySql = `
  INSERT INTO inbox_items (id, account_id, type, post_id, comment_id, content, created_at)
  SELECT ?6, a.id, 'vote', ?2, nullif(?3, ''), printf('Score %d: %d up, %d down', t.up - t.down, t.up, t.down), ?7
  FROM accounts a, (
    SELECT upvotes AS up, downvotes AS down FROM posts WHERE id = ?2 AND ?3 = ''
    UNION ALL SELECT upvotes, downvotes FROM comments WHERE id = ?3) t
  WHERE a.id = ?5 AND a.kind <> 'system' AND a.is_imported = 0 AND ?4 <> 0 AND ${currentVoteSql} <> ?4
  ON CONFLICT (account_id, post_id, coalesce(comment_id, '')) WHERE type = 'vote' AND read_at IS NULL
  DO UPDATE SET content = excluded.content, created_at = excluded.created_at`

const saveSql = `
  INSERT INTO votes (account_id, post_id, comment_id, value, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT DO UPDATE SET value = excluded.value, created_at = excluded.created_at
  WHERE value <> excluded.value`
const deleteSql = 'DELETE FROM votes WHERE account_id = ?1 AND post_id = ?2 AND comment_id = ?3'

/**
 * Returns the statements that set a vote and update counts, rank, karma and the author's inbox. Each
 * statement counts from the current vote, which is written last, so a repeated vote counts once.
 */
export function voteStatements(db: Db, vote: Vote): D1PreparedStatement[] {
  const { target, voter, value, itemId, now } = vote
  const { postId, commentId, authorId } = target
  const base = [voter, postId, commentId ?? '']
  const bind = (sql: string, ...more: unknown[]) => db.d1.prepare(sql).bind(...base, ...more)
  return [
    bind(commentId === null ? countOnPostSql : countOnCommentSql, value),
    bind(karmaSql, value, authorId),
    bind(notifySql, value, authorId, itemId, now),
    value === 0 ? bind(deleteSql) : bind(saveSql, value, now),
  ]
}

/** Selects the viewer's votes in a thread; `commentId` is '' for the post. */
export const selectOwnVotes = (
  db: Db,
  credential: Credential,
  now: number,
  postId: string,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT comment_id AS commentId, value FROM votes
       WHERE account_id = (SELECT id FROM viewer) AND post_id = ?5`,
    )
    .bind(...viewerParams(credential, now), postId)
