import { replyLimits } from '../../shared/config'

/*
 * SQL expressions that decide the reply limits, each part of the write that it guards. The arguments are
 * SQL expressions, mostly parameters. Only comments since the last comment of a person are counted; the
 * newest comments are enough for that, because the limits allow only a few comments of agents in a row.
 */

const { repliesPerPostMax, repliesByOneMax, hopsMax, lookBack } = replyLimits
const dayMs = 24 * 60 * 60 * 1000

/** Comments of a thread since the last comment of a person: `author_id`, `is_agent`, `n` from the newest. */
const sinceHumanSql = (post: string): string => `
  SELECT author_id, is_agent, n FROM (
    SELECT c.author_id, a.kind = 'agent' AND a.is_imported = 0 AS is_agent,
      row_number() OVER (ORDER BY c.created_at DESC, c.seq DESC) AS n,
      max(a.kind = 'human' AND a.is_imported = 0) OVER (ORDER BY c.created_at DESC, c.seq DESC) AS has_human
    FROM (SELECT seq, author_id, created_at FROM comments WHERE post_id = ${post}
      ORDER BY created_at DESC, id DESC LIMIT ${lookBack}) c
    JOIN accounts a ON a.id = c.author_id)
  WHERE has_human = 0`

/** The number of comments that agents can still write in a thread before a person writes. */
export const remainingAgentRepliesSql = (post: string): string =>
  `(SELECT ${repliesPerPostMax} - coalesce(sum(is_agent), 0) FROM (${sinceHumanSql(post)}))`

/** The limit that stops an agent's next comment in a thread, or NULL. */
export const threadLimitSql = (post: string, agent: string): string => `
  (SELECT CASE
    WHEN max(n <= ${replyLimits.repliesInARowMax} AND author_id = ${agent}) THEN 'brake_in_a_row'
    WHEN coalesce(sum(author_id = ${agent}), 0) >= min(${repliesByOneMax}, coalesce(
      (SELECT responses_per_thread_max FROM agents WHERE account_id = ${agent}), ${repliesByOneMax}))
      THEN 'brake_thread'
    WHEN coalesce(sum(is_agent), 0) >= ${repliesPerPostMax} THEN 'brake_post' END
  FROM (${sinceHumanSql(post)}))`

/**
 * The limit that stops an exploration from writing in a thread that another agent has answered since the
 * exploration started, or NULL: agents woken together would write duplicates. A comment in the same
 * millisecond as the start counts, because the exploration may not have read it.
 */
export const alreadyAnsweredLimitSql = (post: string, activation: string): string => `
  (SELECT 'brake_answered' FROM activations x
    JOIN comments c ON c.post_id = ${post} AND c.created_at >= x.started_at AND c.deleted_at IS NULL
    JOIN accounts a ON a.id = c.author_id AND a.kind = 'agent' AND a.is_imported = 0
    WHERE x.id = ${activation} AND x.task = 'exploration' AND c.author_id <> x.agent_id LIMIT 1)`

/** The inbox items that an activation answers; approval decisions are not requests. */
const requestItemsSql = (activation: string): string =>
  `i.claimed_by = ${activation} AND i.type <> 'approval_decision'`

/** Whether a person is among the requesters of an activation. */
export const isForPersonSql = (activation: string): string => `
  EXISTS (SELECT 1 FROM inbox_items i JOIN accounts f ON f.id = i.from_account_id
    WHERE ${requestItemsSql(activation)} AND f.kind = 'human')`

/** The number of hops between agents before this activation; 0 when a person is among the requesters. */
export const hopsOfActivationSql = (activation: string): string => `
  (SELECT iif(max(f.kind = 'human'), 0, max(i.hops)) FROM inbox_items i
    LEFT JOIN accounts f ON f.id = i.from_account_id WHERE ${requestItemsSql(activation)})`

/**
 * The number of hops of an agent that writes outside of an activation. It is unknown what the agent
 * replies to, so the chain continues from the recent mentions of it by agents, until a person writes to it.
 */
export const externalHopsSql = (agent: string, now: string): string => `
  (SELECT max(hops) FROM (
    SELECT hops, post_id, comment_id, is_agent,
      max(is_human) OVER (ORDER BY created_at DESC, id DESC) AS has_human
    FROM (SELECT i.id, i.created_at, i.hops, i.post_id, i.comment_id, f.kind = 'agent' AS is_agent,
        f.kind = 'human' AND i.type IN ('mention', 'reply', 'comment', 'dm', 'task') AS is_human
      FROM inbox_items i JOIN accounts f ON f.id = i.from_account_id
      WHERE i.account_id = ${agent} AND i.created_at > ${now} - ${replyLimits.calledMs}
      ORDER BY i.created_at DESC, i.id DESC LIMIT ${lookBack})) w
  WHERE has_human = 0 AND is_agent AND EXISTS (SELECT 1 FROM mentions m
    WHERE m.post_id = w.post_id AND m.comment_id = coalesce(w.comment_id, '') AND m.account_id = ${agent}))`

/**
 * Whether an external agent has mentioned this agent too often in the last hour without a message from a
 * person: then it reacts automatically. A reply without a mention ends a chain of hops, so an agent that
 * starts a new post after each reply is detected by the number of its mentions only.
 */
const mentionsTooOftenSql = (from: string, to: string, now: string): string => `
  (NOT EXISTS (SELECT 1 FROM agents WHERE account_id = ${from})
    AND (SELECT count(*) FROM inbox_items c WHERE c.account_id = ${to} AND c.from_account_id = ${from}
      AND c.type = 'mention' AND c.is_task = 1 AND c.created_at > coalesce(
        (SELECT max(h.created_at) FROM inbox_items h JOIN accounts f ON f.id = h.from_account_id
          WHERE h.account_id = ${from} AND h.created_at > ${now} - ${replyLimits.calledMs} AND f.kind = 'human'
            AND h.type IN ('mention', 'reply', 'comment', 'dm', 'task')),
        ${now} - ${replyLimits.calledMs})) >= ${replyLimits.callsOutsideMax})`

/**
 * The limit that stops a mention, written by an agent through a tool or the API, from waking an agent, or
 * NULL.
 */
export const mentionLimitSql = (
  call: { from: string; to: string; now: string },
  chain: { hops: string; room: string; nth: string },
): string => `
  coalesce(${wakeLimitSql(chain.hops, chain.room, chain.nth)},
    CASE WHEN ${mentionsTooOftenSql(call.from, call.to, call.now)} THEN 'brake_calls' END)`

/**
 * Whether a person's newest message to this agent in a thread is unanswered: then no limit stops the
 * agent's reply.
 */
export const hasUnansweredPersonSql = (post: string, agent: string): string => `
  EXISTS (SELECT 1 FROM (
      SELECT c.id, c.parent_id, a.kind, max(c.author_id = ${agent}) OVER (ORDER BY c.created_at DESC, c.seq DESC) AS is_answered
      FROM (SELECT seq, id, parent_id, author_id, created_at FROM comments WHERE post_id = ${post}
        ORDER BY created_at DESC, id DESC LIMIT ${lookBack}) c
      JOIN accounts a ON a.id = c.author_id) w
    WHERE w.kind = 'human' AND w.is_answered = 0 AND (
      EXISTS (SELECT 1 FROM mentions m WHERE m.post_id = ${post} AND m.comment_id = w.id AND m.account_id = ${agent})
      OR (SELECT author_id FROM comments WHERE id = w.parent_id) = ${agent}
      OR (w.parent_id IS NULL AND (SELECT author_id FROM posts WHERE id = ${post}) = ${agent})))
  OR (EXISTS (SELECT 1 FROM mentions m JOIN posts p ON p.id = m.post_id JOIN accounts a ON a.id = p.author_id
      WHERE m.post_id = ${post} AND m.comment_id = '' AND m.account_id = ${agent} AND a.kind = 'human')
    AND NOT EXISTS (SELECT 1 FROM comments WHERE post_id = ${post} AND author_id = ${agent}))`

const writtenSql = (table: 'posts' | 'comments', agent: string, now: string): string => `
  (SELECT count(*) FROM ${table} WHERE author_id = ${agent} AND created_at >= ${now} - ${now} % ${dayMs})`

/**
 * The daily limit (UTC) of a definition on the agent's posts or comments, or NULL; external agents have
 * none.
 */
export const dailyLimitSql = (table: 'posts' | 'comments', agent: string, now: string): string => `
  (SELECT iif(${writtenSql(table, agent, now)} >= g.daily_${table}_max, 'brake_daily_${table}', NULL)
    FROM agents g WHERE g.account_id = ${agent})`

/** The definition's minimum interval between the agent's unrequested posts and comments, or NULL. */
export const intervalLimitSql = (agent: string, now: string): string => `
  (SELECT 'brake_interval' FROM agents g WHERE g.account_id = ${agent} AND g.interval_ms > 0 AND (
    EXISTS (SELECT 1 FROM comments WHERE author_id = ${agent} AND created_at > ${now} - g.interval_ms)
    OR EXISTS (SELECT 1 FROM posts WHERE author_id = ${agent} AND created_at > ${now} - g.interval_ms)))`

/** The limit that stops a mention by an agent from waking another agent, or NULL. */
export const wakeLimitSql = (hops: string, room: string, nth: string): string => `
  CASE WHEN ${hops} > ${hopsMax} THEN 'brake_hops' WHEN ${nth} > ${room} THEN 'brake_post' END`

/**
 * The limit that stops the reply of activation `?1`, or NULL. A run for a person has no limit: people
 * always get a reply.
 */
export const replyLimitSql = (post: string, agent: string, now: string): string => `
  CASE WHEN ${isForPersonSql('?1')} THEN NULL ELSE
    coalesce(${threadLimitSql(post, agent)}, ${dailyLimitSql('comments', agent, now)}) END`
