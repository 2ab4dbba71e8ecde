import { and, eq, isNotNull, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { reviewLimits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, CommentId, InboxItemId } from '../../shared/ids'
import type { Review } from '../contract/reviews'
import { unfiltered } from '../database/unfiltered-sql'
import { isNotEndedSql } from '../rules/follow-sql'
import { canAccountReadSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { auditLog } from '../schema/audit'
import { agents, pushedBranches, receivedReviews } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { triggers } from '../schema/triggers'
import { isAccountShutOutSql } from '../viewers/ban-sql'

const h = alias(triggers, 'h')
const b = alias(pushedBranches, 'b')
const a = alias(accounts, 'a')
const u = alias(accounts, 'u')
const g = alias(agents, 'g')
const p = alias(posts, 'p')
const l = alias(auditLog, 'l')
const x = alias(activations, 'x')

const branchRef = sql.raw(`'refs/heads/'`)

/** Records the branches of a push that an audit entry says went through, for the thread of its run. */
export const recordPushedBranches: (push: { entryId: string }) => Statement<void> = prepare(
  ({ entryId }: Params<{ entryId: string }>) =>
    write(
      insertSelect(
        pushedBranches,
        {
          agentId: sql`agent_id`,
          repository: sql`lower((args ->> '$.service') || '/' || (args ->> '$.repository'))`,
          branch: sql`substr(r.value ->> 'ref', length(${branchRef}) + 1)`,
          postId: sql`post_id`,
          pushedAt: sql`created_at`,
        },
        sql`FROM (SELECT ${l.accountId} AS agent_id, ${x.postId}, ${l.createdAt},
            iif(json_valid(${l.arguments}), ${l.arguments}, '{}') AS args
          FROM ${auditLog} ${l} JOIN ${activations} ${x} ON ${x.id} = ${l.activationId} AND ${x.postId} IS NOT NULL
          WHERE ${l.id} = ${entryId} AND ${l.tool} = 'git_push' AND ${l.outcome} = 'ok') pushed
        CROSS JOIN json_each(args, '$.refs') r WHERE substr(r.value ->> 'ref', 1, length(${branchRef})) = ${branchRef}
        ON CONFLICT (${bare(pushedBranches.agentId)}, ${bare(pushedBranches.repository)}, ${bare(pushedBranches.branch)})
          DO UPDATE SET ${bare(pushedBranches.postId)} = excluded.${bare(pushedBranches.postId)},
            ${bare(pushedBranches.pushedAt)} = excluded.${bare(pushedBranches.pushedAt)}`,
      ),
    ),
)

/** The pull request of a delivery, as what finds its thread. */
export interface PullRequestOfTrigger {
  triggerId: string
  /** `service/owner/name` in lower case: of the branch, or of the pull request when the branch is not known. */
  repository: string
  /** Null when the delivery does not name it: then the number finds it. */
  branch: string | null
  number: number
}

/** Remembers the number of a pull request, by which later deliveries that name no branch find it. */
export const recordPullNumber: (pull: PullRequestOfTrigger) => Statement<void> = prepare(
  (v: Params<PullRequestOfTrigger>) =>
    write(
      updateSet(
        pushedBranches,
        { pullNumber: v.number },
        sql`WHERE ${pushedBranches.agentId} = (SELECT ${h.agentId} FROM ${triggers} ${h} WHERE ${h.id} = ${v.triggerId})
          AND ${pushedBranches.repository} = ${v.repository} AND ${pushedBranches.branch} = ${v.branch}`,
      ),
    ),
)

const threadFields = {
  agentId: h.agentId,
  requesterId: h.accountId,
  postId: b.postId,
  communityId: p.communityId,
}

/** The thread that a pull request belongs to, and who asks there. */
export type ReviewedThread = RowOf<typeof threadFields>

/**
 * Selects the thread whose branch a pull request has, if the agent of the trigger pushed it. The account of the trigger
 * has to be a member who reads the thread, and the agent has to read it and follow it still.
 */
export const selectReviewedThread: (
  pull: PullRequestOfTrigger & { now: number },
) => Statement<ReviewedThread | undefined> = prepare(
  (v: Params<PullRequestOfTrigger & { now: number }>) =>
    oneSql(
      threadFields,
      sql`FROM ${triggers} ${h}
        JOIN ${accounts} ${u} ON ${u.id} = ${h.accountId} AND ${u.deletedAt} IS NULL AND ${u.role} <> 'guest'
          AND NOT ${isAccountShutOutSql(u, v.now)}
        JOIN ${agents} ${g} ON ${g.accountId} = ${h.agentId} AND ${g.answersReplies} = 1
        JOIN ${accounts} ${a} ON ${a.id} = ${h.agentId}
        JOIN ${pushedBranches} ${b} ON ${b.agentId} = ${h.agentId} AND ${b.repository} = ${v.repository}
          AND (${b.branch} = ${v.branch} OR (${v.branch} IS NULL AND ${b.pullNumber} = ${v.number}))
        JOIN ${posts} ${p} ${unfiltered('accounts of rows')} ON ${p.id} = ${b.postId} AND ${p.deletedAt} IS NULL
        WHERE ${h.id} = ${v.triggerId} AND ${canAccountReadSql(p.communityId, u)} AND ${canAccountReadSql(p.communityId, a)}
          AND ${isNotEndedSql({ post: p.id, agent: h.agentId })}
        ORDER BY ${b.pushedAt} DESC LIMIT 1`,
    ),
)

/** Marks a review as taken. Fails the constraint `received_reviews.trigger_id` when it was taken before. */
export const insertReceivedReview = (row: typeof receivedReviews.$inferInsert): Statement<void> =>
  write(orm.insert(receivedReviews).values(row))

interface ReviewItem {
  id: InboxItemId
  thread: ReviewedThread
  commentId: CommentId
  at: number
  /** What was received, and the comment that may start a run for it. */
  cause: Pick<typeof receivedReviews.$inferSelect, 'triggerId' | 'reviewKey' | 'commentId'>
}

const r = alias(receivedReviews, 'r')

/**
 * Inserts the task of the agent: a follow-up that the trigger's account asks, with a text from outside. Only for the
 * comment that starts the run of what was received.
 */
export const insertReviewItem = ({ id, thread, commentId, at, cause }: ReviewItem) =>
  write(
    insertSelect(
      inboxItems,
      {
        id,
        commentId,
        accountId: thread.agentId,
        type: 'reply',
        cause: 'follow_up',
        postId: thread.postId,
        fromAccountId: thread.requesterId,
        createdAt: at,
        isTask: true,
        isUntrusted: true,
      },
      sql`FROM ${receivedReviews} ${r} WHERE ${r.triggerId} = ${cause.triggerId}
        AND ${r.reviewKey} = ${cause.reviewKey} AND ${r.commentId} = ${cause.commentId}`,
    ),
  )

/** Deletes what the triggers of an account, and those for an agent, received, and the branches that the agent pushed. */
export const deleteReviewsOf = (id: AccountId) => ({
  receivedReviews: write(
    sql`DELETE FROM ${receivedReviews} WHERE ${receivedReviews.triggerId} IN
      (SELECT ${h.id} FROM ${triggers} ${h} WHERE ${h.accountId} = ${id} OR ${h.agentId} = ${id})`,
  ),
  pushedBranches: write(orm.delete(pushedBranches).where(eq(pushedBranches.agentId, id))),
})

/** The parts that are held: few, in an index of their own. */
const heldSql = sql`${receivedReviews} ${r} INDEXED BY received_reviews_held`

const dueAtSql = sql<number>`min(max(${r.createdAt}) + ${sql.raw(String(reviewLimits.quietMs))},
  min(${r.createdAt}) + ${sql.raw(String(reviewLimits.heldMs))})`

const heldFields = {
  commentId: r.commentId,
  triggerId: r.triggerId,
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
      ORDER BY ${r.commentId} LIMIT ${sql.raw(String(reviewLimits.postedPerSweep))}`,
  ),
)

interface HeldPart {
  triggerId: string
  review: Review
  /** The comment that the first part of a review gets. */
  commentId: CommentId
  createdAt: number
}

/**
 * Holds a part of a review, for the comment of the parts that are held already. Fails the constraint
 * `received_reviews.trigger_id` when the part was received before.
 */
export const holdPart = ({ triggerId, review, commentId, createdAt }: HeldPart): Statement<void> =>
  write(
    insertSelect(
      receivedReviews,
      {
        triggerId,
        reviewKey: review.key,
        commentId: sql`coalesce((SELECT ${r.commentId} FROM ${heldSql} WHERE ${r.part} IS NOT NULL
          AND ${r.triggerId} = ${triggerId} AND ${r.part} ->> '$.reviewId' = ${review.reviewId} LIMIT 1), ${commentId})`,
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
      LIMIT ${sql.raw(String(reviewLimits.partsMax))}`,
  )

const ofKeys = (triggerId: string, parts: readonly Review[]) =>
  sql`${receivedReviews.triggerId} = ${triggerId} AND ${receivedReviews.reviewKey} IN
    (SELECT value FROM json_each(${JSON.stringify(parts.map(({ key }) => key))}))`

/** Deletes parts that no thread takes: they can be delivered again. */
export const deleteHeldParts = (triggerId: string, parts: readonly Review[]): Statement<void> =>
  write(
    sql`DELETE FROM ${receivedReviews} WHERE ${ofKeys(triggerId, parts)} AND ${receivedReviews.part} IS NOT NULL`,
  )

interface PostedParts {
  triggerId: string
  parts: readonly Review[]
  commentId: CommentId
  /** The comment of parts that arrived since these were read. */
  nextId: CommentId
}

/** Marks parts as posted, and leaves those that arrived meanwhile to a comment of their own. */
export const markPosted = ({ triggerId, parts, commentId, nextId }: PostedParts) => [
  write(updateSet(receivedReviews, { part: null }, sql`WHERE ${ofKeys(triggerId, parts)}`)),
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
