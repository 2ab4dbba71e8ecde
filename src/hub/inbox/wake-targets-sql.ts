import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { following } from '../../shared/config'
import { canAccountReadSql } from '../communities/readable-sql'
import {
  followsSql,
  hasAnsweredSql,
  isListedSql,
  isNotEndedSql,
  isOnlyAgentSql,
  moderatesThreadSql,
} from '../following/follow-sql'
import { notFollowingRefusal, unreadableRefusal } from '../reply-limits/explain-reply-limit'
import { mentionLimitSql } from '../reply-limits/reply-limit-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'

/*
 * Which accounts a post or comment addresses, and which of them it wakes. Delivery inserts inbox items from
 * these selects, and the preview of a text reads them, so that both say the same.
 */

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

/** A post or comment, as what decides about it. */
export interface Addressing {
  authorId: SQLWrapper
  authorKind: SQLWrapper
  at: SQLWrapper
  communityId: SQLWrapper
  /** Hops between agents of an item that it creates. */
  hops: SQLWrapper
  /** Comments of agents in the thread since a person wrote, with this one. */
  written: SQLWrapper
}

const canReadThreadSql = ({ communityId }: Addressing): SQL => canAccountReadSql(communityId, a)

const unreadable = sql.raw(`'${unreadableRefusal}'`)

/**
 * Selects the accounts that a text addresses by a mention: `id`, `to_id`, `answers` (it is a task unless there
 * is a refusal), `hops`, `can_read`, `refusal`. Whoever does not read the community is not notified; of an
 * agent that answers mentions the author learns so.
 *
 * @param mentioned a select of `nth`, `account_id` and `item_id`
 */
export const mentionTargetsSql = (v: Addressing, mentioned: SQL): SQL => sql`
  SELECT *, CASE WHEN NOT can_read THEN ${unreadable} WHEN ${v.authorKind} = 'agent' THEN ${mentionLimitSql(
    { from: v.authorId, to: sql`to_id`, now: v.at },
    {
      communityId: v.communityId,
      hops: sql`hops`,
      written: v.written,
      nth: sql`nth_answer`,
    },
  )} END AS refusal
  FROM (SELECT *, sum(answers) OVER (ORDER BY nth) AS nth_answer FROM (SELECT t.nth, t.item_id AS id, ${a.id} AS to_id,
      coalesce(${g.answersMentions}, 0) = 1 AND ${v.authorKind} <> 'system' AS answers,
      ${v.hops} AS hops, ${canReadThreadSql(v)} AS can_read
    FROM (${mentioned}) t CROSS JOIN ${accounts} ${a} ON ${a.id} = t.account_id
    LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
    WHERE ${a.id} <> ${v.authorId} AND ${a.isImported} = 0)
  WHERE can_read OR answers)`

/** A comment in a thread, as what decides whom it reaches without a mention. */
export interface ThreadText extends Addressing {
  postId: SQLWrapper
  /** The comment, if it is stored already: it does not count as the last word. */
  commentId: SQLWrapper
}

/** Whether the account `a` works in a thread now, in a run that nobody stopped, for the author of a text if `isForAuthor`. */
export const isWorkingSql = (
  v: Pick<ThreadText, 'postId' | 'authorId'>,
  isForAuthor: boolean,
): SQL => sql`
  EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.agentId} = ${a.id} AND ${x.state} = 'running'
    AND ${x.cancelRequestedAt} IS NULL AND ${x.postId} = ${v.postId} AND ${x.task} IN ('mention', 'reply')
    ${isForAuthor ? sql`AND ${isListedSql(v.authorId, x.requesters)}` : sql``})`

const notFollowing = sql.raw(`'${notFollowingRefusal}'`)

interface ReplyTarget {
  /** The author that the comment replies to. */
  to: SQLWrapper
  /** `reply`: to a comment of that account; `comment`: to its post. */
  type: SQLWrapper
  /** The comment asks nothing: it is bare thanks, or a stop. */
  isSilent: SQLWrapper
  /** Condition on the account `a`. */
  isMentioned: SQL
}

/**
 * Selects the author that a comment replies to, unless the comment mentions that account: `to_id`; `answers`,
 * whether it is a task; `is_working`, whether that account works in the thread for the author, whose comment
 * then joins the run; and `refusal`. A task for an agent is only the reply of a person, while the agent follows
 * the thread or, below its own post, while nobody ended that.
 */
export const replyTargetSql = (v: ThreadText, of: ReplyTarget): SQL => {
  const inThread = { post: v.postId, agent: a.id, now: v.at }
  const isHeard = sql`iif(${of.type} = 'reply', ${followsSql(inThread, v.commentId)}, ${isNotEndedSql(inThread)})`
  return sql`
    SELECT to_id, is_working, may_ask AND (is_working OR (may_answer AND is_heard)) AS answers,
      iif(may_answer AND NOT is_working AND NOT is_heard, ${notFollowing}, NULL) AS refusal
    FROM (SELECT ${a.id} AS to_id, ${v.authorKind} = 'human' AND NOT ${of.isSilent} AS may_ask,
        coalesce(${g.answersReplies}, 0) = 1 AND ${v.authorKind} = 'human' AND NOT ${of.isSilent} AS may_answer,
        ${isHeard} AS is_heard, ${isWorkingSql(v, true)} AS is_working
      FROM ${accounts} ${a} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      WHERE ${a.id} = ${of.to} AND ${a.id} <> ${v.authorId} AND ${a.kind} <> 'system' AND ${a.isImported} = 0
        AND ${canReadThreadSql(v)} AND NOT (${of.isMentioned}))`
}

interface FollowUpTarget {
  /** Author of the comment that it answers; null for the post. */
  parentAuthorId: SQLWrapper
  /** Whether the comment mentions any account. */
  hasMention: SQL
  /** Condition on the account `a`: it got a task by this comment already. */
  isTaken: SQL
}

/**
 * Selects the agents that a person's comment reaches although it names nobody: `to_id`, `name`, `answers`,
 * `is_working`. Those are the agents that work in the thread for this person, and the only agent of the thread
 * while it follows. A moderator's comment that asks nobody is no task (`answers` is 0); it is for the runs that
 * work in the thread.
 */
export const followUpTargetsSql = (v: ThreadText, of: FollowUpTarget): SQL => {
  const inThread = { post: v.postId, agent: a.id, now: v.at }
  return sql`
    SELECT * FROM (SELECT ${a.id} AS to_id, ${a.name} AS name,
        (${isWorkingSql(v, true)} OR (${hasAnsweredSql(inThread)} AND ${followsSql(inThread, v.commentId)}
          AND ${isOnlyAgentSql(inThread)})) AS answers,
        ${isWorkingSql(v, false)} AS is_working
      FROM (SELECT DISTINCT ${x.agentId} AS agent_id FROM ${activations} ${x}
          WHERE ${x.postId} = ${v.postId} AND (${x.state} = 'running' OR ${x.replyCommentId} IS NOT NULL)) t
        CROSS JOIN ${accounts} ${a} ON ${a.id} = t.agent_id
      WHERE NOT (${of.hasMention}) AND ${canReadThreadSql(v)} AND NOT (${of.isTaken})
        AND NOT EXISTS (SELECT 1 FROM ${accounts} ${u}
          WHERE ${u.id} = ${of.parentAuthorId} AND ${u.kind} = 'agent' AND ${u.id} <> ${a.id}))
    WHERE answers OR (is_working AND ${moderatesThreadSql(v.authorId, v.postId)})
    ORDER BY name LIMIT ${sql.raw(String(following.agentsMax))}`
}
