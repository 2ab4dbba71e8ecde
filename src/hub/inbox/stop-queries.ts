import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import { many, orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import { isListedSql, isOnlyAgentSql, mayEndSql, moderatesThreadSql } from '../following/follow-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { endedFollowings } from '../schema/following'
import { inboxItems } from '../schema/inbox'
import { mentions } from '../schema/mentions'
import { dropJoined, threadCancellationStatements } from './cancellation-queries'
import { isWaitingSql } from './waiting-sql'

const m = alias(mentions, 'm')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

/** A comment of a person that only says stop; `at` is when it was written. */
export interface StopComment {
  postId: PostId
  commentId: CommentId | null
  authorId: AccountId
  /** Author of the comment that it answers; null for the post. */
  parentAuthorId: AccountId | null
  at: number
}

type Values = Params<StopComment>

/** Whether the author asked for the run `x`, or moderates its thread. */
const mayStopRunSql = (v: Values): SQL =>
  sql`(${isListedSql(v.authorId, x.requesters)} OR ${moderatesThreadSql(v.authorId, v.postId)})`

/**
 * The agents of the thread that a stop is for: those that it names, else the one that it answers, else the only
 * one and those that work for its author.
 */
const addressedSql = (v: Values): SQL => sql`
  SELECT ${x.agentId} FROM ${activations} ${x} WHERE ${x.postId} = ${v.postId} AND (
    EXISTS (SELECT 1 FROM ${mentions} ${m} WHERE ${m.postId} = ${v.postId} AND ${m.commentId} = ${v.commentId}
      AND ${m.accountId} = ${x.agentId})
    OR (NOT EXISTS (SELECT 1 FROM ${mentions} ${m} WHERE ${m.postId} = ${v.postId} AND ${m.commentId} = ${v.commentId})
      AND (${x.agentId} = ${v.parentAuthorId} OR (
        NOT EXISTS (SELECT 1 FROM ${accounts} ${u} WHERE ${u.id} = ${v.parentAuthorId} AND ${u.kind} = 'agent')
        AND (${isOnlyAgentSql({ post: v.postId, agent: x.agentId })}
          OR (${x.state} IN ('running', 'parked') AND ${isListedSql(v.authorId, x.requesters)}))))))`

const endFollowings = prepare((v: Values) =>
  write(
    insertSelect(
      endedFollowings,
      { postId: v.postId, agentId: sql`t.agent_id`, endedAt: v.at },
      sql`FROM (SELECT DISTINCT agent_id FROM (${addressedSql(v)})) t
        WHERE ${mayEndSql(v.authorId, { post: v.postId, agent: sql`t.agent_id` })}
        ON CONFLICT (${bare(endedFollowings.postId)}, ${bare(endedFollowings.agentId)})
          DO UPDATE SET ${bare(endedFollowings.endedAt)} = excluded.${bare(endedFollowings.endedAt)}`,
    ),
  ),
)

const markRuns = prepare((v: Values) =>
  write(
    updateSet(
      activations,
      { cancelRequestedAt: sql`coalesce(${activations.cancelRequestedAt}, ${v.at})` },
      sql`WHERE ${activations.id} IN (SELECT ${x.id} FROM ${activations} ${x}
        WHERE ${x.postId} = ${v.postId} AND ${x.state} IN ('running', 'parked') AND ${mayStopRunSql(v)}
          AND ${x.agentId} IN (${addressedSql(v)}))`,
    ),
  ),
)

/** Consumes what waits of the author's own requests, the stop included: a stop is not answered. */
const consumeRequests = prepare((v: Values) =>
  write(
    updateSet(
      inboxItems,
      { readAt: v.at },
      sql`WHERE ${inboxItems.postId} = ${v.postId} AND ${inboxItems.fromAccountId} = ${v.authorId}
        AND ${inboxItems.type} IN ('mention', 'reply', 'comment') AND ${isWaitingSql(inboxItems)}
        AND ${inboxItems.accountId} IN (${addressedSql(v)})`,
    ),
  ),
)

const dropJoinedRequests = prepare((v: Values) =>
  dropJoined(
    { by: v.authorId, now: v.at },
    sql`${x.postId} = ${v.postId} AND ${mayStopRunSql(v)}
      AND ${x.agentId} IN (${addressedSql(v)})`,
  ),
)

/** A run that was stopped, with its agent. */
export interface StoppedRun {
  id: ActivationId
  agentId: AccountId
  /** It waits, for an approval or its provider, and resumes to end. */
  isParked: boolean
}

const selectMarked = prepare((v: Values) =>
  many(
    orm
      .select({ id: x.id, agentId: x.agentId, isParked: flag(sql`${x.state} = 'parked'`) })
      .from(x)
      .where(
        sql`${x.postId} = ${v.postId} AND ${x.state} IN ('running', 'parked') AND ${x.cancelRequestedAt} IS NOT NULL`,
      ),
  ),
)

/**
 * Returns the statements of a stop: the agents that it is for follow the thread no longer, their runs for its
 * author are marked as cancelled, also those that wait for an approval, and what waits of the author's requests
 * is dropped. `stopped` are the runs; the caller has to cancel or wake their agents.
 */
export const stopStatements = (
  comment: StopComment,
): { writes: Statement<void>[]; stopped: Statement<StoppedRun[]> } => ({
  writes: [
    endFollowings(comment),
    markRuns(comment),
    ...threadCancellationStatements(comment.postId, comment.at),
    dropJoinedRequests(comment),
    consumeRequests(comment),
  ],
  stopped: selectMarked(comment),
})
