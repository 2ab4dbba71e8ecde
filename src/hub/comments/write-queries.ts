import { and, eq, isNull, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertRow, updateSet } from '../../shared/db/write-sql'
import type { CommentId, PostId } from '../../shared/ids'
import { unfiltered } from '../communities/readable-sql'
import {
  changeStatements,
  type DeletionRefusal,
  deletionStatements,
} from '../inbox/changed-requests-queries'
import { type IndexedText, renderText } from '../markdown/render-text'
import { comments } from '../schema/comments'
import { posts } from '../schema/posts'

const m = alias(comments, 'm')

type NewComment = Omit<typeof comments.$inferSelect, 'seq' | keyof IndexedText>

const preparedInsertComment = prepare((comment: Params<NewComment & IndexedText>) =>
  write(insertRow(comments, comment, ['seq'])),
)

/** Inserts a comment with its content rendered. */
export const insertComment = (comment: NewComment & IndexedText): Statement<void> =>
  preparedInsertComment(comment)

/** A comment and its thread. */
type CommentRef = Pick<NewComment, 'id' | 'postId'>

const preparedCommentCount = prepare(({ postId }: Params<{ postId: PostId }>) =>
  write(
    updateSet(
      posts,
      { commentCount: sql`${posts.commentCount} + 1` },
      sql`WHERE ${posts.id} = ${postId}`,
    ),
  ),
)

export const incrementCommentCount = (postId: PostId): Statement<void> =>
  preparedCommentCount({ postId })

export const updateComment = (
  { id, postId }: CommentRef,
  content: string,
  now: number,
): Statement<void>[] => [
  write(
    orm
      .update(comments)
      .set({ content, editedAt: now, ...renderText('comments', { id, content }).columns })
      .where(and(eq(comments.id, id), isNull(comments.deletedAt))),
  ),
  changeStatements({ postId, commentId: id }),
]

const decrementCommentCount = prepare(({ id }: Params<{ id: CommentId }>) =>
  write(
    updateSet(
      posts,
      { commentCount: sql`max(0, ${posts.commentCount} - 1)` },
      sql`WHERE ${posts.id} = (SELECT ${m.postId} FROM ${comments} ${m} ${unfiltered('counter')}
        WHERE ${m.id} = ${id} AND ${m.deletedAt} IS NULL)`,
    ),
  ),
)

/**
 * Marks a comment as deleted, subtracts it from its post's count, and ends what waits for an answer to it; repeating
 * changes nothing. Its replies stay.
 */
export const deleteComment = (
  { id, postId }: CommentRef,
  now: number,
  refusal: DeletionRefusal = 'content_deleted',
): Statement<void>[] => [
  decrementCommentCount({ id }),
  write(
    orm
      .update(comments)
      .set({ deletedAt: now })
      .where(and(eq(comments.id, id), isNull(comments.deletedAt))),
  ),
  ...deletionStatements({ postId, commentId: id }, { now, refusal }),
]
