import { and, eq, isNotNull, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { reviewHookLimits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { CommentId } from '../../shared/ids'
import type { Review } from '../contract/review-hooks'
import { receivedReviews } from '../schema/review-hooks'

const r = alias(receivedReviews, 'r')

/** The parts that are held: few, in an index of their own. */
const heldSql = sql`${receivedReviews} ${r} INDEXED BY received_reviews_held`

const dueAtSql = sql<number>`min(max(${r.createdAt}) + ${sql.raw(String(reviewHookLimits.quietMs))},
  min(${r.createdAt}) + ${sql.raw(String(reviewHookLimits.heldMs))})`

const heldFields = {
  commentId: r.commentId,
  hookId: r.hookId,
  dueAt: dueAtSql,
}

/** A review whose parts are held, and when it is posted. */
export type HeldReview = RowOf<typeof heldFields>

/** Selects the reviews that are held, the oldest first. */
export const selectHeldReviews: () => Statement<HeldReview[]> = () => preparedHeld({})

const preparedHeld = prepare((_: Params<Record<never, never>>) =>
  manySql(
    heldFields,
    // In the order of the index, which is that of their first parts.
    sql`FROM ${heldSql} WHERE ${r.part} IS NOT NULL GROUP BY ${r.commentId}
      ORDER BY ${r.commentId} LIMIT ${sql.raw(String(reviewHookLimits.postedPerSweep))}`,
  ),
)

interface HeldPart {
  hookId: string
  review: Review
  /** The comment that the first part of a review gets. */
  commentId: CommentId
  createdAt: number
}

/**
 * Holds a part of a review, for the comment of the parts that are held already. Fails the constraint
 * `received_reviews.hook_id` when the part was received before.
 */
export const holdPart = ({ hookId, review, commentId, createdAt }: HeldPart): Statement<void> =>
  write(
    insertSelect(
      receivedReviews,
      {
        hookId,
        reviewKey: review.key,
        commentId: sql`coalesce((SELECT ${r.commentId} FROM ${heldSql} WHERE ${r.part} IS NOT NULL
          AND ${r.hookId} = ${hookId} AND ${r.part} ->> '$.reviewId' = ${review.reviewId} LIMIT 1), ${commentId})`,
        createdAt,
        part: sql`${JSON.stringify(review)}`,
      },
      sql`WHERE true`,
    ),
  )

/** Selects the parts that are held for a comment: the review itself, then its comments on lines as they were written. */
export const selectHeldParts = (commentId: CommentId): Statement<{ part: Review | null }[]> =>
  manySql(
    { part: r.part },
    sql`FROM ${heldSql} WHERE ${r.commentId} = ${commentId} AND ${r.part} IS NOT NULL
      ORDER BY ${r.reviewKey} NOT LIKE 'review:%', length(${r.reviewKey}), ${r.reviewKey}
      LIMIT ${sql.raw(String(reviewHookLimits.partsMax))}`,
  )

const ofKeys = (hookId: string, parts: readonly Review[]) =>
  sql`${receivedReviews.hookId} = ${hookId} AND ${receivedReviews.reviewKey} IN
    (SELECT value FROM json_each(${JSON.stringify(parts.map(({ key }) => key))}))`

/** Deletes parts that no thread takes: they can be delivered again. */
export const deleteHeldParts = (hookId: string, parts: readonly Review[]): Statement<void> =>
  write(
    sql`DELETE FROM ${receivedReviews} WHERE ${ofKeys(hookId, parts)} AND ${receivedReviews.part} IS NOT NULL`,
  )

interface PostedParts {
  hookId: string
  parts: readonly Review[]
  commentId: CommentId
  /** The comment of parts that arrived since these were read. */
  nextId: CommentId
}

/** Marks parts as posted, and leaves those that arrived meanwhile to a comment of their own. */
export const markPosted = ({ hookId, parts, commentId, nextId }: PostedParts) => [
  write(updateSet(receivedReviews, { part: null }, sql`WHERE ${ofKeys(hookId, parts)}`)),
  write(
    orm
      .update(receivedReviews)
      .set({ commentId: nextId })
      .where(and(eq(receivedReviews.commentId, commentId), isNotNull(receivedReviews.part))),
  ),
]

/** The key of the row that names the comment which started the run of a review. */
export const toRunKey = (reviewId: number | null): string => `run:${reviewId}`

/** Names the comment that starts the run of a review, unless an earlier one has. */
export const recordRun = (
  row: Omit<typeof receivedReviews.$inferInsert, 'part'>,
): Statement<void> => write(orm.insert(receivedReviews).values(row).onConflictDoNothing())
