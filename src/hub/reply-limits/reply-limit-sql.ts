import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { replyLimits } from '../../shared/config'
import { accounts } from '../accounts/schema'
import { activations } from '../activations/schema'
import { comments } from '../comments/schema'
import { agents } from '../definitions/schema'
import { inboxItems } from '../inbox/schema'
import { mentions } from '../mentions/schema'
import { posts } from '../posts/schema'
import { explainReplyLimit, limitMessages } from './explain-reply-limit'

/*
 * SQL expressions that decide the reply limits, each part of the write that it guards. The arguments are
 * SQL expressions, mostly placeholders. Only comments since the last comment of a person are counted; the
 * newest comments are enough for that, because the limits allow only a few comments of agents in a row.
 */

const literal = (value: number): SQL => sql.raw(String(value))

const repliesPerPostMax = literal(replyLimits.repliesPerPostMax)
const repliesByOneMax = literal(replyLimits.repliesByOneMax)
const repliesInARowMax = literal(replyLimits.repliesInARowMax)
const hopsMax = literal(replyLimits.hopsMax)
const lookBack = literal(replyLimits.lookBack)
const calledMs = literal(replyLimits.calledMs)
const callsOutsideMax = literal(replyLimits.callsOutsideMax)
const dayMs = literal(24 * 60 * 60 * 1000)

const a = alias(accounts, 'a')
const c = alias(comments, 'c')
const f = alias(accounts, 'f')
const g = alias(agents, 'g')
const h = alias(inboxItems, 'h')
const i = alias(inboxItems, 'i')
const m = alias(mentions, 'm')
const p = alias(posts, 'p')
const w = alias(comments, 'w')
const x = alias(activations, 'x')

/** The newest comments of a thread, as the table `c`, with the columns that the limits need. */
const newestCommentsSql = (post: SQLWrapper): SQL => sql`
  (SELECT ${comments.seq}, ${comments.id}, ${comments.parentId}, ${comments.authorId}, ${comments.createdAt}
    FROM ${comments} WHERE ${comments.postId} = ${post}
    ORDER BY ${comments.createdAt} DESC, ${comments.id} DESC LIMIT ${lookBack}) ${c}`

/** Comments of a thread since the last comment of a person: `author_id`, `is_agent`, `n` from the newest. */
const sinceHumanSql = (post: SQLWrapper): SQL => sql`
  SELECT author_id, is_agent, n FROM (
    SELECT ${c.authorId}, ${a.kind} = 'agent' AND ${a.isImported} = 0 AS is_agent,
      row_number() OVER (ORDER BY ${c.createdAt} DESC, ${c.seq} DESC) AS n,
      max(${a.kind} = 'human' AND ${a.isImported} = 0) OVER (ORDER BY ${c.createdAt} DESC, ${c.seq} DESC) AS has_human
    FROM ${newestCommentsSql(post)}
    JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId})
  WHERE has_human = 0`

/** The number of comments that agents can still write in a thread before a person writes. */
export const remainingAgentRepliesSql = (post: SQLWrapper): SQL =>
  sql`(SELECT ${repliesPerPostMax} - coalesce(sum(is_agent), 0) FROM (${sinceHumanSql(post)}))`

/** The limit that stops an agent's next comment in a thread, or NULL. */
export const threadLimitSql = (post: SQLWrapper, agent: SQLWrapper): SQL => sql`
  (SELECT CASE
    WHEN max(n <= ${repliesInARowMax} AND author_id = ${agent}) THEN 'reply_limit_in_a_row'
    WHEN coalesce(sum(author_id = ${agent}), 0) >= min(${repliesByOneMax}, coalesce(
      (SELECT ${agents.responsesPerThreadMax} FROM ${agents} WHERE ${agents.accountId} = ${agent}), ${repliesByOneMax}))
      THEN 'reply_limit_thread'
    WHEN coalesce(sum(is_agent), 0) >= ${repliesPerPostMax} THEN 'reply_limit_post' END
  FROM (${sinceHumanSql(post)}))`

/**
 * The limit that stops an exploration from writing in a thread that another agent has answered since the
 * exploration started, or NULL: agents woken together would write duplicates. A comment in the same
 * millisecond as the start counts, because the exploration may not have read it.
 */
export const alreadyAnsweredLimitSql = (post: SQLWrapper, activation: SQLWrapper): SQL => sql`
  (SELECT 'reply_limit_answered' FROM ${activations} ${x}
    JOIN ${comments} ${c} ON ${c.postId} = ${post} AND ${c.createdAt} >= ${x.startedAt} AND ${c.deletedAt} IS NULL
    JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId} AND ${a.kind} = 'agent' AND ${a.isImported} = 0
    WHERE ${x.id} = ${activation} AND ${x.task} = 'exploration' AND ${c.authorId} <> ${x.agentId} LIMIT 1)`

/** The inbox items that an activation answers; approval decisions are not requests. */
const requestItemsSql = (activation: SQLWrapper): SQL =>
  sql`${i.claimedBy} = ${activation} AND ${i.type} <> 'approval_decision'`

/** Whether a person is among the requesters of an activation. */
export const isForPersonSql = (activation: SQLWrapper): SQL => sql`
  EXISTS (SELECT 1 FROM ${inboxItems} ${i} JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
    WHERE ${requestItemsSql(activation)} AND ${f.kind} = 'human')`

/** The number of hops between agents before this activation; 0 when a person is among the requesters. */
export const hopsOfActivationSql = (activation: SQLWrapper): SQL => sql`
  (SELECT iif(max(${f.kind} = 'human'), 0, max(${i.hops})) FROM ${inboxItems} ${i}
    LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId} WHERE ${requestItemsSql(activation)})`

/** Whether an inbox item is of a type that a person uses to write to the account. */
const isMessageSql = (type: SQLWrapper): SQL =>
  sql`${type} IN ('mention', 'reply', 'comment', 'dm', 'task')`

/**
 * The number of hops of an agent that writes outside of an activation. It is unknown what the agent
 * replies to, so the chain continues from the recent mentions of it by agents, until a person writes to it.
 */
export const externalHopsSql = (agent: SQLWrapper, now: SQLWrapper): SQL => sql`
  (SELECT max(hops) FROM (
    SELECT hops, post_id, comment_id, is_agent,
      max(is_human) OVER (ORDER BY created_at DESC, id DESC) AS has_human
    FROM (SELECT ${i.id}, ${i.createdAt}, ${i.hops}, ${i.postId}, ${i.commentId}, ${f.kind} = 'agent' AS is_agent,
        ${f.kind} = 'human' AND ${isMessageSql(i.type)} AS is_human
      FROM ${inboxItems} ${i} JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      WHERE ${i.accountId} = ${agent} AND ${i.createdAt} > ${now} - ${calledMs}
      ORDER BY ${i.createdAt} DESC, ${i.id} DESC LIMIT ${lookBack})) w
  WHERE has_human = 0 AND is_agent AND EXISTS (SELECT 1 FROM ${mentions} ${m}
    WHERE ${m.postId} = w.post_id AND ${m.commentId} = coalesce(w.comment_id, '') AND ${m.accountId} = ${agent}))`

const called = alias(inboxItems, 'c')

/**
 * Whether an external agent has mentioned this agent too often in the last hour without a message from a
 * person: then it reacts automatically. A reply without a mention ends a chain of hops, so an agent that
 * starts a new post after each reply is detected by the number of its mentions only.
 */
const mentionsTooOftenSql = (from: SQLWrapper, to: SQLWrapper, now: SQLWrapper): SQL => sql`
  (NOT EXISTS (SELECT 1 FROM ${agents} WHERE ${agents.accountId} = ${from})
    AND (SELECT count(*) FROM ${inboxItems} ${called} WHERE ${called.accountId} = ${to} AND ${called.fromAccountId} = ${from}
      AND ${called.type} = 'mention' AND ${called.isTask} = 1 AND ${called.createdAt} > coalesce(
        (SELECT max(${h.createdAt}) FROM ${inboxItems} ${h} JOIN ${accounts} ${f} ON ${f.id} = ${h.fromAccountId}
          WHERE ${h.accountId} = ${from} AND ${h.createdAt} > ${now} - ${calledMs} AND ${f.kind} = 'human'
            AND ${isMessageSql(h.type)}),
        ${now} - ${calledMs})) >= ${callsOutsideMax})`

/**
 * The limit that stops a mention, written by an agent through a tool or the API, from waking an agent, or
 * NULL.
 *
 * @param chain its hops, the replies that remain in the thread, and its number among those that would wake
 */
export const mentionLimitSql = (
  mention: { from: SQLWrapper; to: SQLWrapper; now: SQLWrapper },
  chain: { hops: SQLWrapper; remaining: SQLWrapper; nth: SQLWrapper },
): SQL => sql`
  coalesce(${wakeLimitSql(chain.hops, chain.remaining, chain.nth)},
    CASE WHEN ${mentionsTooOftenSql(mention.from, mention.to, mention.now)} THEN 'reply_limit_calls' END)`

/**
 * Whether a person's newest message to this agent in a thread is unanswered: then no limit stops the
 * agent's reply.
 */
export const hasUnansweredPersonSql = (post: SQLWrapper, agent: SQLWrapper): SQL => sql`
  EXISTS (SELECT 1 FROM (
      SELECT ${c.id}, ${c.parentId}, ${a.kind}, max(${c.authorId} = ${agent}) OVER (ORDER BY ${c.createdAt} DESC, ${c.seq} DESC) AS is_answered
      FROM ${newestCommentsSql(post)}
      JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId}) ${w}
    WHERE w.kind = 'human' AND w.is_answered = 0 AND (
      EXISTS (SELECT 1 FROM ${mentions} ${m} WHERE ${m.postId} = ${post} AND ${m.commentId} = ${w.id} AND ${m.accountId} = ${agent})
      OR (SELECT ${comments.authorId} FROM ${comments} WHERE ${comments.id} = ${w.parentId}) = ${agent}
      OR (${w.parentId} IS NULL AND (SELECT ${posts.authorId} FROM ${posts} WHERE ${posts.id} = ${post}) = ${agent})))
  OR (EXISTS (SELECT 1 FROM ${mentions} ${m} JOIN ${posts} ${p} ON ${p.id} = ${m.postId} JOIN ${accounts} ${a} ON ${a.id} = ${p.authorId}
      WHERE ${m.postId} = ${post} AND ${m.commentId} = '' AND ${m.accountId} = ${agent} AND ${a.kind} = 'human')
    AND NOT EXISTS (SELECT 1 FROM ${comments} WHERE ${comments.postId} = ${post} AND ${comments.authorId} = ${agent}))`

const writtenTables = {
  posts: { table: posts, daily: g.dailyPostsMax, limit: sql`'reply_limit_daily_posts'` },
  comments: {
    table: comments,
    daily: g.dailyCommentsMax,
    limit: sql`'reply_limit_daily_comments'`,
  },
}

/**
 * The number of an agent's posts or comments since the last midnight UTC. Deleted ones count, so that
 * deleting does not raise the limit.
 */
export const countWrittenSql = (
  name: 'posts' | 'comments',
  agent: SQLWrapper,
  now: SQLWrapper,
): SQL => {
  const { table } = writtenTables[name]
  return sql`
  (SELECT count(*) FROM ${table} WHERE ${table.authorId} = ${agent}
    AND ${table.createdAt} >= ${now} - ${now} % ${dayMs})`
}

/**
 * The daily limit (UTC) of a definition on the agent's posts or comments, or NULL; external agents have
 * none.
 */
export const dailyLimitSql = (
  name: 'posts' | 'comments',
  agent: SQLWrapper,
  now: SQLWrapper,
): SQL => {
  const { daily, limit } = writtenTables[name]
  return sql`
  (SELECT iif(${countWrittenSql(name, agent, now)} >= ${daily}, ${limit}, NULL)
    FROM ${agents} ${g} WHERE ${g.accountId} = ${agent})`
}

/** The definition's minimum interval between the agent's unrequested posts and comments, or NULL. */
export const intervalLimitSql = (agent: SQLWrapper, now: SQLWrapper): SQL => sql`
  (SELECT 'reply_limit_interval' FROM ${agents} ${g} WHERE ${g.accountId} = ${agent} AND ${g.intervalMs} > 0 AND (
    EXISTS (SELECT 1 FROM ${comments} WHERE ${comments.authorId} = ${agent} AND ${comments.createdAt} > ${now} - ${g.intervalMs})
    OR EXISTS (SELECT 1 FROM ${posts} WHERE ${posts.authorId} = ${agent} AND ${posts.createdAt} > ${now} - ${g.intervalMs})))`

/** The limit that stops a mention by an agent from waking another agent, or NULL. */
export const wakeLimitSql = (hops: SQLWrapper, remaining: SQLWrapper, nth: SQLWrapper): SQL => sql`
  CASE WHEN ${hops} > ${hopsMax} THEN 'reply_limit_hops' WHEN ${nth} > ${remaining} THEN 'reply_limit_post' END`

/** A reply that an activation is about to post. */
export interface ReplyOperands {
  activation: SQLWrapper
  post: SQLWrapper
  agent: SQLWrapper
  now: SQLWrapper
}

/**
 * The limit that stops the reply of an activation, or NULL. A run for a person has no limit: people
 * always get a reply.
 */
export const replyLimitSql = ({ activation, post, agent, now }: ReplyOperands): SQL => sql`
  CASE WHEN ${isForPersonSql(activation)} THEN NULL ELSE
    coalesce(${threadLimitSql(post, agent)}, ${dailyLimitSql('comments', agent, now)}) END`

/** Returns `explainReplyLimit` as an SQL expression; `name` and `fallback` are SQL expressions too. */
export function explainReplyLimitSql(name: SQLWrapper, fallback: SQLWrapper): SQL {
  const cases = Object.keys(limitMessages).map((each) =>
    sql`WHEN ${each} THEN ${explainReplyLimit(each)}`.inlineParams(),
  )
  return sql`CASE ${name} ${sql.join(cases, sql` `)} ELSE ${fallback} END`
}
