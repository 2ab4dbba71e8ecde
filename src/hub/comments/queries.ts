import { and, eq, isNull } from 'drizzle-orm'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import { type Db, toD1 } from '../db'
import { comments } from './schema'

const commentColumns = `
  c.id, c.post_id AS postId, c.parent_id AS parentId,
  iif(c.deleted_at IS NULL, c.content, '') AS content, c.depth,
  c.upvotes, c.downvotes, c.activation_id AS activationId, c.created_at AS createdAt,
  c.edited_at AS editedAt, c.deleted_at AS deletedAt,
  a.id AS authorId, a.name AS authorName, a.kind AS authorKind, a.display_name AS authorDisplayName`

export const commentSorts = ['best', 'top', 'new', 'old', 'controversial'] as const
export type CommentSort = (typeof commentSorts)[number]

const orders: Record<CommentSort, string> = {
  best: '(c.upvotes - c.downvotes) DESC, c.created_at, c.id',
  top: 'c.upvotes DESC, c.created_at, c.id',
  new: 'c.created_at DESC, c.id DESC',
  old: 'c.created_at, c.id',
  controversial: 'min(c.upvotes, c.downvotes) DESC, c.created_at, c.id',
}

/**
 * Selects `limit` comments of a thread in the given order, and all their ancestors, so that they
 * form complete trees. `position` is the place in the order; null for an ancestor that is not on the
 * page itself. Deleted comments come without their text.
 */
export const selectComments = (
  db: Db,
  postId: string,
  page: { sort: CommentSort; limit: number; offset: number },
): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH RECURSIVE
         page (id, parent_id, position) AS MATERIALIZED (
           SELECT c.id, c.parent_id, row_number() OVER (ORDER BY ${orders[page.sort]})
           FROM comments c WHERE c.post_id = ?1 ORDER BY ${orders[page.sort]} LIMIT ?2 OFFSET ?3),
         tree (id) AS (
           SELECT id FROM page
           UNION SELECT c.parent_id FROM tree t JOIN comments c ON c.id = t.id WHERE c.parent_id IS NOT NULL)
       SELECT ${commentColumns}, page.position
       FROM tree t JOIN comments c ON c.id = t.id JOIN accounts a ON a.id = c.author_id
       LEFT JOIN page ON page.id = c.id
       ORDER BY page.position IS NULL, page.position`,
    )
    .bind(postId, page.limit, page.offset)

/** Selects a row when a thread has more than `index` comments. */
export const selectCommentAt = (db: Db, postId: string, index: number): D1PreparedStatement =>
  db.d1.prepare('SELECT 1 FROM comments WHERE post_id = ?1 LIMIT 1 OFFSET ?2').bind(postId, index)

/** Selects one comment, unless it or its post is deleted. */
export const selectComment = (db: Db, id: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${commentColumns} FROM comments c JOIN accounts a ON a.id = c.author_id
       JOIN posts p ON p.id = c.post_id
       WHERE c.id = ?1 AND c.deleted_at IS NULL AND p.deleted_at IS NULL`,
    )
    .bind(id)

/** The post that a new comment replies to. Flags are 0 or 1. */
export interface ParentPost {
  id: PostId
  isLocked: number
  authorId: AccountId
  isHosted: number
}

export const selectParentPost = (db: Db, id: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT p.id, p.is_locked AS isLocked, p.author_id AS authorId,
              EXISTS (SELECT 1 FROM agents g WHERE g.account_id = p.author_id) AS isHosted
       FROM posts p WHERE p.id = ?1 AND p.deleted_at IS NULL`,
    )
    .bind(id)

/** The comment that a new comment replies to. Flags are 0 or 1. */
export interface ParentComment {
  id: CommentId
  parentId: CommentId | null
  depth: number
  authorId: AccountId
  isHosted: number
}

export const selectParentComment = (db: Db, postId: string, id: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT c.id, c.parent_id AS parentId, c.depth, c.author_id AS authorId,
              EXISTS (SELECT 1 FROM agents g WHERE g.account_id = c.author_id) AS isHosted
       FROM comments c WHERE c.id = ?1 AND c.post_id = ?2 AND c.deleted_at IS NULL`,
    )
    .bind(id, postId)

export const insertComment = (db: Db, comment: typeof comments.$inferInsert): D1PreparedStatement =>
  toD1(db, db.orm.insert(comments).values(comment))

export const incrementCommentCount = (db: Db, postId: PostId): D1PreparedStatement =>
  db.d1.prepare('UPDATE posts SET comment_count = comment_count + 1 WHERE id = ?1').bind(postId)

export const updateComment = (
  db: Db,
  id: CommentId,
  content: string,
  now: number,
): D1PreparedStatement =>
  toD1(
    db,
    db.orm
      .update(comments)
      .set({ content, editedAt: now })
      .where(and(eq(comments.id, id), isNull(comments.deletedAt))),
  )

/**
 * Marks a comment as deleted and subtracts it from its post's count; repeating changes nothing. Its
 * replies stay.
 */
export const deleteComment = (db: Db, id: CommentId, now: number): D1PreparedStatement[] => [
  db.d1
    .prepare(
      `UPDATE posts SET comment_count = max(0, comment_count - 1)
       WHERE id = (SELECT post_id FROM comments WHERE id = ?1 AND deleted_at IS NULL)`,
    )
    .bind(id),
  db.d1
    .prepare('UPDATE comments SET deleted_at = ?2 WHERE id = ?1 AND deleted_at IS NULL')
    .bind(id, now),
]
