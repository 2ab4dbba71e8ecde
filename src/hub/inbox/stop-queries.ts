import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  many,
  manySql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare, idAt, insertSelect, newIdSql, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, CommunityId, PostId } from '../../shared/ids'
import type { ChangedRequest } from '../contract/activations'
import { unfiltered } from '../database/unfiltered-sql'
import { isListedSql, isOnlyAgentSql, mayEndSql, moderatesThreadSql } from '../rules/follow-sql'
import { optionalPersonSql, ownedSql, personSql } from '../rules/people-sql'
import { withdrawnRefusal } from '../rules/reply-limits'
import { isWaitingSql, requestersOfItemSql, unreadItemsSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { agents, outageWaits } from '../schema/definitions'
import { changedRequests, endedFollowings, inboxItems } from '../schema/inbox'
import { comments, mentions, posts } from '../schema/posts'
import { isStoppedSql } from '../viewers/ban-sql'

const i = alias(inboxItems, 'i')
const m = alias(mentions, 'm')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

/** A comment of a person that only says stop; `at` is when it was written. */
interface StopComment {
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

const c = alias(comments, 'stop_c')
const g = alias(agents, 'stop_g')
const k = alias(mentions, 'stop_k')
const q = alias(posts, 'stop_q')
const w = alias(inboxItems, 'stop_w')

/** The agents that ran in the thread, are mentioned there or wrote there, so that something of theirs can wait there. */
const agentsInThreadSql = (post: SQLWrapper): SQL => sql`
  SELECT ${x.agentId} AS agent_id FROM ${activations} ${x} WHERE ${x.postId} = ${post}
  UNION SELECT ${g.accountId} FROM ${agents} ${g} WHERE ${g.accountId} IN (
    SELECT ${k.accountId} FROM ${mentions} ${k} WHERE ${k.postId} = ${post}
    UNION ALL SELECT ${c.authorId} FROM ${comments} ${c} ${unfiltered('guarded write')} WHERE ${c.postId} = ${post}
    UNION ALL SELECT ${q.authorId} FROM ${posts} ${q} ${unfiltered('guarded write')} WHERE ${q.id} = ${post})`

/** Whether an agent works in the thread for the author, or a question that acts for the author waits for it. */
const isAskedByAuthorSql = (v: Values, agent: SQLWrapper): SQL => sql`
  (EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.postId} = ${v.postId} AND ${x.agentId} = ${agent}
      AND ${x.state} IN ('running', 'parked') AND ${isListedSql(v.authorId, x.requesters)})
    OR EXISTS (SELECT 1 FROM ${unreadItemsSql(w)} WHERE ${w.accountId} = ${agent} AND ${w.postId} = ${v.postId}
      AND ${isWaitingSql(w)} AND ${isListedSql(v.authorId, requestersOfItemSql(w))}))`

/**
 * The agents of the thread that a stop is for: those that it names, else the one that it answers, else the only
 * one and those that its author asked.
 */
const addressedSql = (v: Values): SQL => sql`
  SELECT t.agent_id FROM (${agentsInThreadSql(v.postId)}) t WHERE (
    EXISTS (SELECT 1 FROM ${mentions} ${m} WHERE ${m.postId} = ${v.postId} AND ${m.commentId} = ${v.commentId}
      AND ${m.accountId} = t.agent_id)
    OR (NOT EXISTS (SELECT 1 FROM ${mentions} ${m} WHERE ${m.postId} = ${v.postId} AND ${m.commentId} = ${v.commentId})
      AND (t.agent_id = ${v.parentAuthorId} OR (
        NOT EXISTS (SELECT 1 FROM ${accounts} ${u} WHERE ${u.id} = ${v.parentAuthorId} AND ${u.kind} = 'agent')
        AND (${isOnlyAgentSql({ post: v.postId, agent: sql`t.agent_id` })}
          OR ${isAskedByAuthorSql(v, sql`t.agent_id`)})))))`

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

/**
 * Withdraws the questions that wait: those that act for the author, and of a moderator's thread all. The stop itself is
 * consumed, and no question. A run that has claimed a question is not concerned: `markRuns` is for that one.
 */
const withdrawQuestions = prepare((v: Values) =>
  write(
    updateSet(
      inboxItems,
      {
        readAt: v.at,
        refusal: sql`iif(${inboxItems.commentId} IS ${v.commentId}, NULL, ${sql.raw(`'${withdrawnRefusal}'`)})`,
        withdrawnBy: sql`nullif(${v.commentId}, ${inboxItems.commentId})`,
      },
      sql`WHERE ${inboxItems.id} IN (SELECT ${i.id} FROM ${unreadItemsSql(i)}
        WHERE ${i.accountId} IN (${addressedSql(v)}) AND ${i.postId} = ${v.postId}
          AND ${i.type} IN ('mention', 'reply', 'comment') AND ${isWaitingSql(i)}
          AND (${isListedSql(v.authorId, requestersOfItemSql(i))} OR ${moderatesThreadSql(v.authorId, v.postId)}))`,
    ),
  ),
)

const sender = alias(accounts, 'stop_f')

/** A question that was withdrawn before its agent started. */
const withdrawnFields = {
  /** The comment that said stop. */
  stopId: sql<CommentId>`${w.withdrawnBy}`,
  agent: personSql(u),
  /** Who asked; null for the hub. */
  requester: optionalPersonSql(sender),
}

export type WithdrawnQuestion = RowOf<typeof withdrawnFields>

const withdrawnTables = sql`${inboxItems} ${w} JOIN ${accounts} ${u} ON ${u.id} = ${w.accountId}
  LEFT JOIN ${accounts} ${sender} ON ${sender.id} = ${w.fromAccountId}`

/** Selects the questions of a thread that were withdrawn, the oldest first. */
export const selectWithdrawn = prepare(({ postId }: Params<{ postId: string }>) =>
  manySql(
    withdrawnFields,
    sql`FROM ${withdrawnTables} WHERE ${w.postId} = ${postId} AND ${w.withdrawnBy} IS NOT NULL
      ORDER BY ${w.createdAt}, ${w.id} LIMIT 200`,
  ),
)

/** Selects those that one comment withdrew. */
export const selectWithdrawnBy = prepare(
  (v: Params<{ postId: PostId; commentId: CommentId | null }>) =>
    manySql(
      withdrawnFields,
      sql`FROM ${withdrawnTables} WHERE ${w.postId} = ${v.postId} AND ${w.withdrawnBy} = ${v.commentId}
        ORDER BY ${w.createdAt}, ${w.id} LIMIT 200`,
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

interface StopStatements {
  writes: Statement<void>[]
  stopped: Statement<StoppedRun[]>
  withdrawn: Statement<WithdrawnQuestion[]>
}

/**
 * Returns the statements of a stop: the agents that it is for follow the thread no longer, their runs for its
 * author are marked as cancelled, also those that wait for an approval, and questions that wait are withdrawn. `stopped` are
 * the runs; the caller has to cancel or wake their agents.
 */
export const stopStatements = (comment: StopComment): StopStatements => ({
  writes: [
    endFollowings(comment),
    markRuns(comment),
    ...threadCancellationStatements(comment.postId, comment.at),
    dropJoinedRequests(comment),
    withdrawQuestions(comment),
  ],
  stopped: selectMarked(comment),
  withdrawn: selectWithdrawnBy(comment),
})

const p = alias(approvals, 'p')
const outageWait = alias(outageWaits, 'w')

interface Times {
  now: number
  /** An id with the time for new ids. */
  timeId: string
}

/** Columns of an activation. */
type Run = Record<'id' | 'postId', SQLWrapper>

/** The statements that follow the cancellation of activations; `isMeant` chooses among those that are cancelled. */
const prepareEnding = <Of>(isMeant: (run: Run, v: Params<Of & Times>) => SQL) => {
  const cancelled = (v: Params<Of & Times>): SQL =>
    sql`(SELECT ${x.id} FROM ${activations} ${x} WHERE ${isMeant(x, v)} AND ${x.state} <> 'done'
      AND ${x.cancelRequestedAt} IS NOT NULL)`
  const cancelApprovals = prepare((v: Params<Of & Times>) =>
    write(
      updateSet(
        approvals,
        { status: 'cancelled', decidedAt: v.now, arguments: bare(approvals.maskedArguments) },
        sql`WHERE ${approvals.status} = 'pending' AND ${approvals.activationId} IN ${cancelled(v)}`,
      ),
    ),
  )
  const resume = prepare((v: Params<Of & Times>) =>
    write(
      insertSelect(
        inboxItems,
        {
          id: newIdSql(v.timeId),
          accountId: x.agentId,
          type: 'approval_decision',
          content: sql`'The run was cancelled.'`,
          createdAt: v.now,
          isTask: true,
          activationId: x.id,
        },
        sql`FROM ${activations} ${x} WHERE ${isMeant(x, v)} AND ${x.state} = 'parked'
          AND ${x.cancelRequestedAt} IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.activationId} = ${x.id}
            AND ${i.type} = 'approval_decision' AND ${i.claimedBy} IS NULL AND ${i.readAt} IS NULL)`,
      ),
    ),
  )
  const clearRequests = prepare((v: Params<Of & Times>) =>
    write(
      updateSet(
        inboxItems,
        { readAt: v.now },
        sql`WHERE ${inboxItems.type} = 'approval_request' AND ${inboxItems.readAt} IS NULL
          AND ${inboxItems.approvalId} IN (SELECT ${p.id} FROM ${approvals} ${p} WHERE ${p.activationId} IN ${cancelled(v)})`,
      ),
    ),
  )
  const endWaits = prepare((v: Params<Of & Times>) =>
    write(sql`DELETE FROM ${outageWaits} WHERE ${outageWaits.agentId} IN (
      SELECT ${outageWait.agentId} FROM ${outageWaits} ${outageWait} WHERE ${outageWait.activationId} IN ${cancelled(v)})`),
  )
  return (v: Of, now: number): Statement<void>[] => {
    const values = { ...v, now, timeId: idAt(now) }
    return [cancelApprovals(values), resume(values), clearRequests(values), endWaits(values)]
  }
}

const endOne = prepareEnding<{ activationId: ActivationId }>(
  (run, v) => sql`${run.id} = ${v.activationId}`,
)

/**
 * Returns the statements that follow the cancellation of an activation, before or after it parked: its
 * approvals are cancelled, and it resumes to end.
 */
export const cancellationStatements = (
  activationId: ActivationId,
  now: number,
): Statement<void>[] => endOne({ activationId }, now)

const endInThread = prepareEnding<{ postId: PostId }>((run, v) => sql`${run.postId} = ${v.postId}`)

/** Returns the same statements for all activations of a thread that are cancelled. */
const threadCancellationStatements = (postId: PostId, now: number): Statement<void>[] =>
  endInThread({ postId }, now)

/** Who cancelled a run. */
interface Canceller {
  by: AccountId
  now: number
}

/**
 * Drops what the account that cancelled a run had added to it, and what others had added, unless the account is
 * a requester of the run: then their comments get a run of their own.
 *
 * @param isMeant condition on the cancelled runs `x`
 */
const dropJoined = (v: Params<Canceller>, isMeant: SQL): Statement<void> =>
  write(
    updateSet(
      inboxItems,
      { readAt: v.now },
      sql`WHERE ${inboxItems.claimedBy} IN (SELECT ${x.id} FROM ${activations} ${x}
          WHERE ${isMeant} AND ${x.state} <> 'done' AND ${x.cancelRequestedAt} IS NOT NULL)
        AND ${inboxItems.joinedAt} IS NOT NULL AND ${inboxItems.readAt} IS NULL
        AND (${inboxItems.fromAccountId} = ${v.by} OR NOT EXISTS (SELECT 1 FROM ${activations} ${x}
          WHERE ${x.id} = ${inboxItems.claimedBy} AND ${isListedSql(v.by, x.requesters)}))`,
    ),
  )

/** Drops what joined a cancelled run, as far as the account that cancelled it decides about that. */
export const dropJoinedItems = prepare((v: Params<Canceller & { activationId: ActivationId }>) =>
  dropJoined(v, sql`${x.id} = ${v.activationId}`),
)

const stoppedItem = alias(inboxItems, 'w')
const stoppedPost = alias(posts, 'sp')

/** Refuses waiting tasks: they stay in the inbox with the reason, and wake nobody. */
const refuse = (where: SQL): Statement<void> =>
  write(
    updateSet(
      inboxItems,
      { isTask: false, refusal: 'requester_stopped' },
      sql`WHERE ${inboxItems.id} IN (${where})`,
    ),
  )

const isForSql = (account: AccountId): SQL =>
  sql`EXISTS (SELECT 1 FROM json_each(${requestersOfItemSql(i)}) n
    WHERE n.value = ${account} OR n.value IN ${ownedSql(account)})`

/** Columns of an inbox item that decide whether it must not run. */
type Task = Record<'type' | 'postId' | 'requesters' | 'fromAccountId', SQLWrapper>

const communityOfSql = (item: Task): SQL =>
  sql`(SELECT ${stoppedPost.communityId} FROM ${posts} ${stoppedPost} ${unfiltered('operator')} WHERE ${stoppedPost.id} = ${item.postId})`

/** Refuses the tasks that wait for any agent on behalf of an account, on the whole hub or in a community. */
export const refuseItemsFor = (
  requester: AccountId,
  community: CommunityId | null = null,
): Statement<void> =>
  refuse(sql`SELECT ${i.id} FROM ${inboxItems} ${i} INDEXED BY inbox_waiting
    WHERE ${isWaitingSql(i)} AND ${i.type} <> 'approval_decision' AND ${isForSql(requester)}
      AND (${community} IS NULL OR ${communityOfSql(i)} = ${community})`)

/**
 * Whether a task must not run: a requester is disabled, or banned or muted on the whole hub or where the
 * thread of the task is.
 */
export const isItemStoppedSql = (item: Task, now: SQLWrapper): SQL =>
  sql`(${item.type} <> 'approval_decision' AND EXISTS (SELECT 1 FROM json_each(${requestersOfItemSql(item)}) n
    WHERE ${isStoppedSql(sql`n.value`, now, communityOfSql(item))}))`

const endOfTime = sql.raw('9000000000000000')

/**
 * Refuses the next tasks of an agent as far as they must not run, up to the first one that may. Those
 * behind it are refused when they come first, so that a long queue costs nothing.
 */
export const refuseItemsOfStopped = prepare(
  ({ agentId, now }: Params<{ agentId: AccountId; now: number }>) =>
    refuse(sql`WITH open AS MATERIALIZED (SELECT ${stoppedItem.createdAt} AS at, ${stoppedItem.id} AS id FROM ${unreadItemsSql(stoppedItem)}
        WHERE ${stoppedItem.accountId} = ${agentId} AND ${isWaitingSql(stoppedItem)} AND NOT ${isItemStoppedSql(stoppedItem, now)}
        ORDER BY ${stoppedItem.createdAt}, ${stoppedItem.id} LIMIT 1)
      SELECT ${i.id} FROM ${unreadItemsSql(i)}
      WHERE ${i.accountId} = ${agentId} AND ${isWaitingSql(i)} AND ${isItemStoppedSql(i, now)}
        AND (${i.createdAt}, ${i.id}) < (coalesce((SELECT at FROM open), ${endOfTime}), coalesce((SELECT id FROM open), ''))`),
)

const changed = alias(changedRequests, 'w')

/** A post, or one of its comments. */
export interface Content {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
}

/** Why nobody answers a text: its author deleted it, or a moderator removed it. */
export type DeletionRefusal = 'content_deleted' | 'content_removed'

/** Ends the waiting tasks of agents about it. A parked run ends itself when it is resumed. */
const endTasks = prepare((v: Params<Content & { now: number; refusal: DeletionRefusal }>) =>
  write(
    updateSet(
      inboxItems,
      { readAt: v.now, refusal: v.refusal },
      sql`WHERE ${inboxItems.postId} = ${v.postId} AND (${v.commentId} IS NULL OR ${inboxItems.commentId} = ${v.commentId})
        AND ${inboxItems.isTask} = 1 AND ${inboxItems.readAt} IS NULL
        AND ${inboxItems.claimedBy} IS NULL AND ${inboxItems.type} <> 'approval_decision'`,
    ),
  ),
)

/** Records that the runs of the thread for which `isMeant` holds were asked in words that changed. */
const record = (postId: SQLWrapper, isMeant: SQL): Statement<void> =>
  write(
    insertSelect(
      changedRequests,
      { agentId: x.agentId, activationId: x.id, postId: x.postId },
      sql`FROM ${activations} ${x} WHERE ${x.postId} = ${postId} AND ${isMeant} ON CONFLICT DO NOTHING`,
    ),
  )

const recordThread = prepare(({ postId }: Params<Pick<Content, 'postId'>>) =>
  record(postId, sql`true`),
)

const recordText = prepare(({ postId, commentId }: Params<Content>) =>
  record(
    postId,
    sql`(${x.replyCommentId} = ${commentId} OR EXISTS (SELECT 1 FROM ${inboxItems} ${i}
      WHERE ${i.claimedBy} = ${x.id} AND ${i.postId} = ${x.postId} AND ${i.commentId} IS ${commentId}))`,
  ),
)

/**
 * Returns what follows when a text is edited: the agents that answered it have to delete its old words from their
 * memory, which their next run does (`changedRequestsSql`). Put it into the batch of the edit.
 */
export const changeStatements = (content: Content): Statement<void> => recordText(content)

/** Returns what follows when a text is deleted or removed, for its batch: nobody answers it any more either. */
export const deletionStatements = (
  { postId, commentId }: Content,
  ended: { now: number; refusal: DeletionRefusal },
): Statement<void>[] => [
  endTasks({ postId, commentId, ...ended }),
  commentId === null ? recordThread({ postId }) : recordText({ postId, commentId }),
]

/** Of one run; further ones follow with the next. */
const changedMax = sql.raw('200')

/** Returns the runs of an agent that have ended, and of whose words it has to delete what it remembers. */
export const changedRequestsSql = (agentId: SQLWrapper): SQL<ChangedRequest[]> =>
  sql`(SELECT json_group_array(json_object('activationId', activation_id, 'postId', post_id)) FROM (
    SELECT ${changed.activationId}, ${changed.postId} FROM ${changedRequests} ${changed}
    CROSS JOIN ${activations} ${x} ON ${x.id} = ${changed.activationId} AND ${x.state} = 'done'
    WHERE ${changed.agentId} = ${agentId} LIMIT ${changedMax}))`.mapWith(
    (list: string): ChangedRequest[] => JSON.parse(list),
  )

/** Deletes those of them that the agent has dealt with. */
export const deleteChangedRequests = (
  agentId: AccountId,
  ids: readonly ActivationId[],
): Statement<void> => deleteRows({ agentId, ids: JSON.stringify(ids) })

const deleteRows = prepare(({ agentId, ids }: Params<{ agentId: AccountId; ids: string }>) =>
  write(sql`DELETE FROM ${changedRequests} WHERE ${changedRequests.agentId} = ${agentId}
    AND ${changedRequests.activationId} IN (SELECT value FROM json_each(${ids}))`),
)
