import { and, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { reviewHookLimits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, CommentId, InboxItemId } from '../../shared/ids'
import { isAccountShutOutSql } from '../bans/ban-sql'
import { canAccountReadSql, unfiltered } from '../communities/readable-sql'
import { isNotEndedSql } from '../following/follow-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { auditLog } from '../schema/audit'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { pushedBranches, receivedReviews, reviewHooks } from '../schema/review-hooks'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'

const h = alias(reviewHooks, 'h')
const b = alias(pushedBranches, 'b')
const a = alias(accounts, 'a')
const u = alias(accounts, 'u')
const g = alias(agents, 'g')
const p = alias(posts, 'p')
const l = alias(auditLog, 'l')
const x = alias(activations, 'x')

const hooksMax = sql.raw(String(reviewHookLimits.perAccountMax))

const hookFields = {
  id: h.id,
  agent: a.name,
  createdAt: h.createdAt,
  deliveredAt: h.deliveredAt,
  deliveryOutcome: h.deliveryOutcome,
  deliveryReason: h.deliveryReason,
}

/** A hook without its secret. Times are milliseconds since the Unix epoch. */
export type ReviewHookRow = RowOf<typeof hookFields>

const selectHooksOfViewer = prepare((v: Params<ViewerValues>) =>
  manySql(
    hookFields,
    sql`FROM ${viewer} JOIN ${reviewHooks} ${h} ON ${h.accountId} = ${viewer.id}
      JOIN ${accounts} ${a} ON ${a.id} = ${h.agentId}
      ORDER BY ${h.createdAt} DESC, ${h.id} DESC LIMIT ${hooksMax}`,
    viewerCte(v),
  ),
)

/** Selects the viewer's hooks, the newest first. */
export const selectReviewHooks = (
  credential: Credential,
  now: number,
): Statement<ReviewHookRow[]> => selectHooksOfViewer(viewerValues(credential, now))

/**
 * Inserts a hook. When the account has as many as it may have, its time is null: that fails the constraint
 * `review_hooks.created_at` and with it the whole batch.
 */
export const insertReviewHook = ({
  createdAt,
  ...row
}: Pick<
  typeof reviewHooks.$inferInsert,
  'id' | 'agentId' | 'accountId' | 'createdAt'
>): Statement<void> =>
  write(
    insertSelect(
      reviewHooks,
      {
        ...row,
        createdAt: sql`iif((SELECT count(*) FROM ${reviewHooks} ${h} WHERE ${h.accountId} = ${row.accountId})
          < ${hooksMax}, ${createdAt}, NULL)`,
      },
      sql`WHERE true`,
    ),
  )

type Delivered = Required<
  Pick<typeof reviewHooks.$inferInsert, 'deliveredAt' | 'deliveryOutcome' | 'deliveryReason'>
>

/** Records the last delivery of a hook. */
export const updateDelivery = (hookId: string, delivered: Delivered): Statement<void> =>
  write(orm.update(reviewHooks).set(delivered).where(eq(reviewHooks.id, hookId)))

/** Deletes a hook of an account, after what it received. `isDeleted` answers whether there was one. */
export const deleteReviewHook = (id: string, accountId: AccountId) => ({
  received: write(
    sql`DELETE FROM ${receivedReviews} WHERE ${receivedReviews.hookId} IN
      (SELECT ${h.id} FROM ${reviewHooks} ${h} WHERE ${h.id} = ${id} AND ${h.accountId} = ${accountId})`,
  ),
  isDeleted: writeChanges(
    orm
      .delete(reviewHooks)
      .where(and(eq(reviewHooks.id, id), eq(reviewHooks.accountId, accountId))),
  ),
})

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
export interface PullRequestOfHook {
  hookId: string
  /** `service/owner/name` in lower case: of the branch, or of the pull request when the branch is not known. */
  repository: string
  /** Null when the delivery does not name it: then the number finds it. */
  branch: string | null
  number: number
}

/** Remembers the number of a pull request, by which later deliveries that name no branch find it. */
export const recordPullNumber: (pull: PullRequestOfHook) => Statement<void> = prepare(
  (v: Params<PullRequestOfHook>) =>
    write(
      updateSet(
        pushedBranches,
        { pullNumber: v.number },
        sql`WHERE ${pushedBranches.agentId} = (SELECT ${h.agentId} FROM ${reviewHooks} ${h} WHERE ${h.id} = ${v.hookId})
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
 * Selects the thread whose branch a pull request has, if the agent of the hook pushed it. The account of the hook
 * has to be a member who reads the thread, and the agent has to read it and follow it still.
 */
export const selectReviewedThread: (
  pull: PullRequestOfHook & { now: number },
) => Statement<ReviewedThread | undefined> = prepare(
  (v: Params<PullRequestOfHook & { now: number }>) =>
    oneSql(
      threadFields,
      sql`FROM ${reviewHooks} ${h}
        JOIN ${accounts} ${u} ON ${u.id} = ${h.accountId} AND ${u.deletedAt} IS NULL AND ${u.role} <> 'guest'
          AND NOT ${isAccountShutOutSql(u, v.now)}
        JOIN ${agents} ${g} ON ${g.accountId} = ${h.agentId} AND ${g.answersReplies} = 1
        JOIN ${accounts} ${a} ON ${a.id} = ${h.agentId}
        JOIN ${pushedBranches} ${b} ON ${b.agentId} = ${h.agentId} AND ${b.repository} = ${v.repository}
          AND (${b.branch} = ${v.branch} OR (${v.branch} IS NULL AND ${b.pullNumber} = ${v.number}))
        JOIN ${posts} ${p} ${unfiltered('accounts of rows')} ON ${p.id} = ${b.postId} AND ${p.deletedAt} IS NULL
        WHERE ${h.id} = ${v.hookId} AND ${canAccountReadSql(p.communityId, u)} AND ${canAccountReadSql(p.communityId, a)}
          AND ${isNotEndedSql({ post: p.id, agent: h.agentId })}
        ORDER BY ${b.pushedAt} DESC LIMIT 1`,
    ),
)

/** Marks a review as taken. Fails the constraint `received_reviews.hook_id` when it was taken before. */
export const insertReceivedReview = (row: typeof receivedReviews.$inferInsert): Statement<void> =>
  write(orm.insert(receivedReviews).values(row))

interface ReviewItem {
  id: InboxItemId
  thread: ReviewedThread
  commentId: CommentId
  at: number
  /** What was received, and the comment that may start a run for it. */
  cause: Pick<typeof receivedReviews.$inferSelect, 'hookId' | 'reviewKey' | 'commentId'>
}

const r = alias(receivedReviews, 'r')

/**
 * Inserts the task of the agent: a follow-up that the hook's account asks, with a text from outside. Only for the
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
      sql`FROM ${receivedReviews} ${r} WHERE ${r.hookId} = ${cause.hookId}
        AND ${r.reviewKey} = ${cause.reviewKey} AND ${r.commentId} = ${cause.commentId}`,
    ),
  )

/** Deletes the hooks of an account, those for an agent, and what they received. */
export const deleteHooksOf = (id: AccountId) => ({
  receivedReviews: write(
    sql`DELETE FROM ${receivedReviews} WHERE ${receivedReviews.hookId} IN
      (SELECT ${h.id} FROM ${reviewHooks} ${h} WHERE ${h.accountId} = ${id} OR ${h.agentId} = ${id})`,
  ),
  reviewHooks: write(
    sql`DELETE FROM ${reviewHooks} WHERE ${reviewHooks.accountId} = ${id} OR ${reviewHooks.agentId} = ${id}`,
  ),
  pushedBranches: write(orm.delete(pushedBranches).where(eq(pushedBranches.agentId, id))),
})
