import { and, eq, isNull, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertRow, updateSet } from '../../shared/db/write-sql'
import type { CommentId, PostId } from '../../shared/ids'
import { unfiltered } from '../communities/readable-sql'
import { type RenderedText, renderText } from '../markdown/render-text'
import { comments } from '../schema/comments'
import { posts } from '../schema/posts'

const m = alias(comments, 'm')

type NewComment = Omit<typeof comments.$inferSelect, 'seq' | keyof RenderedText>

const preparedInsertComment = prepare((comment: Params<NewComment & RenderedText>) =>
  write(insertRow(comments, comment, ['seq'])),
)

/** Inserts a comment with its content rendered. */
export const insertComment = (comment: NewComment & RenderedText): Statement<void> =>
  preparedInsertComment(comment)

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

export const updateComment = (id: CommentId, content: string, now: number): Statement<void> =>
  write(
    orm
      .update(comments)
      .set({ content, editedAt: now, ...renderText('comments', { id, content }).columns })
      .where(and(eq(comments.id, id), isNull(comments.deletedAt))),
  )

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
 * Marks a comment as deleted and subtracts it from its post's count; repeating changes nothing. Its
 * replies stay.
 */
export const deleteComment = (id: CommentId, now: number): Statement<void>[] => [
  decrementCommentCount({ id }),
  write(
    orm
      .update(comments)
      .set({ deletedAt: now })
      .where(and(eq(comments.id, id), isNull(comments.deletedAt))),
  ),
]
