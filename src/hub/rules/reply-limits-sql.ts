import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type ReplyLimits, replyLimits } from '../../shared/config'
import { unfiltered } from '../database/unfiltered-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { liftedLimits } from '../schema/moderation'
import { comments, mentions, posts } from '../schema/posts'
import { settings } from '../schema/system'
import { mayModerateSql } from './moderator-sql'
import { formatLimit, limitMark, limitMessages, singulars } from './reply-limits'

/*
 * SQL expressions that decide the reply limits, each part of the write that it guards. The arguments are
 * SQL expressions, mostly placeholders. Only comments since the last comment of a person are counted; the
 * newest comments are enough for that, because the limits allow only a few comments of agents in a row.
 *
 * Without a person, agents stop by themselves, because every wake-up of an agent by an agent is bounded:
 *
 * 1. A mention by a person has 0 hops. A mention by an agent has one hop more than the text it stands in.
 * 2. What an agent writes in a run has the hops of the run, in whatever thread: its cause is known.
 * 3. What an external agent writes has the hops of its thread only: those of what it replies to, or one
 *    more than those of a text of an agent that mentions it. Its new post begins at 0.
 * 4. More hops than `hop_limit` wake nobody. So runs that wake one another end.
 * 5. A thread takes `reply_limit` comments of agents. So a thread ends.
 * 6. An external agent wakes the same agent `callsOutsideMax` times within `callsWindowMs`. So threads that
 *    follow from one another through an external agent end: rule 3 does not connect them. For a hosted
 *    agent that writes with a key outside of a run, `max_daily_posts` does the same.
 *
 * A person's comment in the thread resets 3 and 5, a person's message to the external agent resets 6. A person
 * who lifts a stop resets 3 and 5 too, and the mentions that continue have one hop.
 */

const literal = (value: number): SQL => sql.raw(String(value))

const repliesInARowMax = literal(replyLimits.repliesInARowMax)
const lookBack = literal(replyLimits.lookBack)
const callsOutsideMax = literal(replyLimits.callsOutsideMax)
const callsWindowMs = literal(replyLimits.callsWindowMs)
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
  (SELECT ${comments.seq}, ${comments.id}, ${comments.parentId}, ${comments.authorId}, ${comments.createdAt}, ${comments.hops}
    FROM ${comments} ${unfiltered('limits')} WHERE ${comments.postId} = ${post}
    ORDER BY ${comments.createdAt} DESC, ${comments.id} DESC LIMIT ${lookBack}) ${c}`

/**
 * Comments of a thread since the last comment of a person, and since a person lifted its limits: `id`,
 * `author_id`, `hops`, `is_agent`, `n` from the newest.
 */
const sinceHumanSql = (post: SQLWrapper): SQL => sql`
  SELECT id, author_id, hops, is_agent, n FROM (
    SELECT ${c.id}, ${c.authorId}, ${c.createdAt}, ${c.hops}, ${a.kind} = 'agent' AND ${a.isImported} = 0 AS is_agent,
      row_number() OVER (ORDER BY ${c.createdAt} DESC, ${c.seq} DESC) AS n,
      max(${a.kind} = 'human' AND ${a.isImported} = 0) OVER (ORDER BY ${c.createdAt} DESC, ${c.seq} DESC) AS has_human
    FROM ${newestCommentsSql(post)}
    JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId})
  WHERE has_human = 0 AND created_at > ${liftedAtSql(post)}`

/** The number of comments that agents wrote in a thread since a person wrote. */
export const countAgentRepliesSql = (post: SQLWrapper): SQL =>
  sql`(SELECT coalesce(sum(is_agent), 0) FROM (${sinceHumanSql(post)}))`

/** The limit that stops an agent's next comment in a thread, or NULL. */
export const threadLimitSql = (
  { post, communityId }: { post: SQLWrapper; communityId: SQLWrapper },
  agent: SQLWrapper,
): SQL => sql`
  (SELECT CASE
    WHEN t.is_newest THEN 'reply_limit_in_a_row'
    WHEN t.own >= min(l.reply_limit, coalesce(
      (SELECT ${agents.responsesPerThreadMax} FROM ${agents} WHERE ${agents.accountId} = ${agent}), l.reply_limit))
      THEN 'reply_limit_thread'
    WHEN t.written >= l.reply_limit THEN 'reply_limit_post' END
  FROM (SELECT max(n <= ${repliesInARowMax} AND author_id = ${agent}) AS is_newest,
      coalesce(sum(author_id = ${agent}), 0) AS own, coalesce(sum(is_agent), 0) AS written
    FROM (${sinceHumanSql(post)})) t CROSS JOIN ${limitsSql(communityId)})`

/**
 * The limit that stops an exploration from writing in a thread that another agent has answered since the
 * exploration started, or NULL: agents woken together would write duplicates. A comment in the same
 * millisecond as the start counts, because the exploration may not have read it.
 */
export const alreadyAnsweredLimitSql = (post: SQLWrapper, activation: SQLWrapper): SQL => sql`
  (SELECT 'reply_limit_answered' FROM ${activations} ${x}
    ${unfiltered('limits')} JOIN ${comments} ${c} ON ${c.postId} = ${post} AND ${c.createdAt} >= ${x.startedAt} AND ${c.deletedAt} IS NULL
    JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId} AND ${a.kind} = 'agent' AND ${a.isImported} = 0
    WHERE ${x.id} = ${activation} AND ${x.task} = 'exploration' AND ${c.authorId} <> ${x.agentId} LIMIT 1)`

/** The inbox items that an activation answers; approval decisions are not requests. */
const requestItemsSql = (activation: SQLWrapper): SQL =>
  sql`${i.claimedBy} = ${activation} AND ${i.type} <> 'approval_decision' AND coalesce(${i.cause}, '') <> 'moderation'`

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
 * The number of hops of a comment that an external agent writes in a thread; 0 after a comment of a
 * person. It is unknown what the agent acts on, so the comment continues what it replies to and the texts of
 * agents in this thread that mention it, whichever has more hops.
 *
 * @param parent the id of the comment that it replies to; NULL for none
 */
export const externalHopsSql = (
  { post, parent }: { post: SQLWrapper; parent: SQLWrapper },
  agent: SQLWrapper,
): SQL => sql`
  (SELECT coalesce(max(CASE
      WHEN EXISTS (SELECT 1 FROM ${mentions} ${m} WHERE ${m.postId} = ${post} AND ${m.commentId} = w.id AND ${m.accountId} = ${agent})
        THEN w.hops + 1
      WHEN w.id = coalesce(${parent}, '') THEN w.hops END), 0)
    FROM (
      SELECT id, hops, author_id FROM (${sinceHumanSql(post)}) WHERE is_agent
      UNION ALL
      SELECT '', ${p.hops}, ${p.authorId} FROM ${posts} ${p} ${unfiltered('limits')} JOIN ${accounts} ${a} ON ${a.id} = ${p.authorId} AND ${a.kind} = 'agent'
        WHERE ${p.id} = ${post} AND ${liftedAtSql(post)} = 0 AND NOT EXISTS (SELECT 1 FROM ${newestCommentsSql(post)}
          JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId} WHERE ${a.kind} = 'human' AND ${a.isImported} = 0)) w
    WHERE w.author_id <> ${agent})`

const called = alias(inboxItems, 'c')

/** The number of times that an account woke this agent in the last hour without a message from a person. */
export const countCallsSql = (from: SQLWrapper, to: SQLWrapper, now: SQLWrapper): SQL => sql`
  (SELECT count(*) FROM ${inboxItems} ${called} WHERE ${called.accountId} = ${to} AND ${called.fromAccountId} = ${from}
      AND ${called.type} = 'mention' AND ${called.isTask} = 1 AND ${called.createdAt} > coalesce(
        (SELECT max(${h.createdAt}) FROM ${inboxItems} ${h} JOIN ${accounts} ${f} ON ${f.id} = ${h.fromAccountId}
          WHERE ${h.accountId} = ${from} AND ${h.createdAt} > ${now} - ${callsWindowMs} AND ${f.kind} = 'human'
            AND ${isMessageSql(h.type)}),
        ${now} - ${callsWindowMs}))`

/**
 * Whether an external agent has woken this agent too often: then it reacts automatically. A new post begins
 * at 0 hops, so an agent that opens a post after each answer is detected by the number of its calls only.
 */
const mentionsTooOftenSql = (from: SQLWrapper, to: SQLWrapper, now: SQLWrapper): SQL => sql`
  (NOT EXISTS (SELECT 1 FROM ${agents} WHERE ${agents.accountId} = ${from})
    AND ${countCallsSql(from, to, now)} >= ${callsOutsideMax})`

/**
 * The limit that stops a mention, written by an agent through a tool or the API, from waking an agent, or
 * NULL.
 *
 * @param chain see `wakeLimitSql`
 */
export const mentionLimitSql = (
  mention: { from: SQLWrapper; to: SQLWrapper; now: SQLWrapper },
  chain: WakeChain,
): SQL => sql`
  coalesce(${wakeLimitSql(chain)},
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
      OR (SELECT ${comments.authorId} FROM ${comments} ${unfiltered('limits')} WHERE ${comments.id} = ${w.parentId}) = ${agent}
      OR (${w.parentId} IS NULL AND (SELECT ${posts.authorId} FROM ${posts} ${unfiltered('limits')} WHERE ${posts.id} = ${post}) = ${agent})))
  OR (EXISTS (SELECT 1 FROM ${mentions} ${m} ${unfiltered('limits')} JOIN ${posts} ${p} ON ${p.id} = ${m.postId} JOIN ${accounts} ${a} ON ${a.id} = ${p.authorId}
      WHERE ${m.postId} = ${post} AND ${m.commentId} = '' AND ${m.accountId} = ${agent} AND ${a.kind} = 'human')
    AND NOT EXISTS (SELECT 1 FROM ${comments} ${unfiltered('limits')} WHERE ${comments.postId} = ${post} AND ${comments.authorId} = ${agent}))`

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
  (SELECT count(*) FROM ${table} ${unfiltered('limits')} WHERE ${table.authorId} = ${agent}
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
    EXISTS (SELECT 1 FROM ${comments} ${unfiltered('limits')} WHERE ${comments.authorId} = ${agent} AND ${comments.createdAt} > ${now} - ${g.intervalMs})
    OR EXISTS (SELECT 1 FROM ${posts} ${unfiltered('limits')} WHERE ${posts.authorId} = ${agent} AND ${posts.createdAt} > ${now} - ${g.intervalMs})))`

/** What decides whether a mention by an agent wakes another one. */
interface WakeChain {
  communityId: SQLWrapper
  hops: SQLWrapper
  /** Comments of agents in the thread. */
  written: SQLWrapper
  /** Its number among the mentions that would wake. No window function, which would see the limits only. */
  nth: SQLWrapper
}

/** The limit that stops a mention by an agent from waking another agent, or NULL. */
export const wakeLimitSql = ({ communityId, hops, written, nth }: WakeChain): SQL => sql`
  (SELECT CASE WHEN ${hops} > l.hop_limit THEN 'reply_limit_hops'
    WHEN ${nth} + ${written} > l.reply_limit THEN 'reply_limit_post' END FROM ${limitsSql(communityId)})`

/** A reply that an activation is about to post. */
interface ReplyOperands {
  activation: SQLWrapper
  post: SQLWrapper
  communityId: SQLWrapper
  agent: SQLWrapper
  now: SQLWrapper
}

/**
 * The limit that stops the reply of an activation, or NULL. A run for a person has no limit: people
 * always get a reply.
 */
export const replyLimitSql = ({ activation, agent, now, ...thread }: ReplyOperands): SQL => sql`
  CASE WHEN ${isForPersonSql(activation)} THEN NULL ELSE
    coalesce(${threadLimitSql(thread, agent)}, ${dailyLimitSql('comments', agent, now)}) END`

/** Returns `explainReplyLimit` in a thread as an SQL expression; the arguments are SQL expressions too. */
export function explainReplyLimitSql(
  name: SQLWrapper,
  post: SQLWrapper,
  fallback: SQLWrapper,
): SQL {
  const cases = Object.entries(limitMessages).map(([each, message]) => {
    const text = sql`${formatLimit(message, limitMark)}`
    const value = message.limit === null ? '' : threadLimitFields(post, sql`true`)[message.limit]
    const filled = singulars.reduce(
      (of, [plural, singular]) => sql`replace(${of}, ${plural}, ${singular})`,
      sql`replace(${text}, ${limitMark}, ${value})`,
    )
    return sql`WHEN ${each} THEN ${filled}`.inlineParams()
  })
  return sql`CASE ${name} ${sql.join(cases, sql` `)} ELSE ${fallback} END`
}

/** Key of the hub's limits in `settings`; the value is a JSON object. */
export const hubLimitsKey = 'reply_limits'

const k = alias(communities, 'k')

const s = alias(settings, 's')
const hubKeySql = sql.raw(`'${hubLimitsKey}'`)
const valueSql = (name: keyof ReplyLimits): SQL => sql`${s.value} ->> ${sql.raw(`'$.${name}'`)}`
const defaultSql = (name: keyof ReplyLimits): SQL => sql.raw(String(replyLimits.defaults[name]))

const hubLimitSql = (name: keyof ReplyLimits): SQL<number> => sql<number>`coalesce(
  (SELECT ${valueSql(name)} FROM ${settings} ${s} WHERE ${s.key} = ${hubKeySql}), ${defaultSql(name)})`

/** The limits of the hub. */
export const hubLimitFields = {
  hopLimit: hubLimitSql('hopLimit'),
  replyLimit: hubLimitSql('replyLimit'),
}

/** The limits that hold in a community, which is joined: its own, or those of the hub. */
export const limitFieldsOf = (community: Record<keyof ReplyLimits, SQLWrapper>) => ({
  hopLimit: sql<number>`coalesce(${community.hopLimit}, ${hubLimitFields.hopLimit})`,
  replyLimit: sql<number>`coalesce(${community.replyLimit}, ${hubLimitFields.replyLimit})`,
})

/** The limits of a community by its id, as the table `l`: `hop_limit`, `reply_limit`. */
export const limitsSql = (communityId: SQLWrapper): SQL => {
  const limit = (name: keyof ReplyLimits) =>
    sql`coalesce(${k[name]}, ${valueSql(name)}, ${defaultSql(name)})`
  return sql`(SELECT ${limit('hopLimit')} AS hop_limit, ${limit('replyLimit')} AS reply_limit FROM ${communities} ${k}
    LEFT JOIN ${settings} ${s} ON ${s.key} = ${hubKeySql} WHERE ${k.id} = ${communityId}) l`
}

/** The community of a thread. */
export const communityOfSql = (post: SQLWrapper): SQL =>
  sql`(SELECT ${posts.communityId} FROM ${posts} ${unfiltered('limits')} WHERE ${posts.id} = ${post})`

/**
 * The limits of a community as fields, which explain why something was stopped there.
 *
 * @param isNeeded whether they are read; 0 otherwise
 */
export const limitFieldsIn = (communityId: SQLWrapper, isNeeded: SQL) => {
  const toField = (name: SQL, ofHub: SQL) =>
    sql<number>`CASE WHEN ${isNeeded} THEN
      coalesce((SELECT l.${name} FROM ${limitsSql(communityId)}), ${ofHub}) ELSE 0 END`
  return {
    hopLimit: toField(sql.raw('hop_limit'), hubLimitFields.hopLimit),
    replyLimit: toField(sql.raw('reply_limit'), hubLimitFields.replyLimit),
  }
}

/** The same of a thread. */
export const threadLimitFields = (post: SQLWrapper, isNeeded: SQL) =>
  limitFieldsIn(communityOfSql(post), isNeeded)

const d = alias(liftedLimits, 'lift_d')
const liftComment = alias(comments, 'lift_c')
const liftAgent = alias(accounts, 'lift_a')
const r = alias(accounts, 'lift_r')
const who = alias(accounts, 'lift_who')
const liftPost = alias(posts, 'lift_p')

/** When a person last lifted the limits of a thread; 0 for never. */
const liftedAtSql = (post: SQLWrapper): SQL =>
  sql`coalesce((SELECT max(${d.liftedAt}) FROM ${liftedLimits} ${d} WHERE ${d.postId} = ${post}), 0)`

/** Whether a person commented in a thread after a moment: then its limits count from there. */
export const hasPersonSinceSql = (post: SQLWrapper, moment: SQLWrapper): SQL => sql`
  EXISTS (SELECT 1 FROM ${comments} ${liftComment} ${unfiltered('limits')} JOIN ${accounts} ${liftAgent} ON ${liftAgent.id} = ${liftComment.authorId}
    WHERE ${liftComment.postId} = ${post} AND ${liftComment.createdAt} > ${moment} AND ${liftAgent.kind} = 'human')`

/** Columns of an inbox item that say whether it is a mention that a limit kept from waking an agent. */
type Mention = Record<
  'isTask' | 'refusal' | 'type' | 'postId' | 'createdAt' | 'requesters' | 'fromAccountId',
  SQLWrapper
>

/** Whether an inbox item is a mention that was refused in a thread since a person's last comment there. */
export const isRefusedMentionSql = (item: Mention): SQL => sql`
  (${item.isTask} = 0 AND ${item.refusal} IS NOT NULL AND ${item.type} = 'mention'
    AND NOT ${hasPersonSinceSql(item.postId, item.createdAt)})`

/**
 * Whether a refused mention was stopped by a limit that a person can lift, and was not there at the last lift. One
 * of a run for the hub itself can't be lifted: it has no requester, so what an agent wrote would run with the rights
 * of whoever lifts it alone.
 */
export const isLiftableSql = (item: Mention): SQL => sql`
  (${item.refusal} IN ('reply_limit_post', 'reply_limit_hops') AND coalesce(${item.requesters}, '') <> '[]'
    AND ${item.createdAt} > ${liftedAtSql(item.postId)})`

/** Whether an account pays for a mention already: as its requester, or as the owner of an agent that is. */
export const isPayerSql = (item: Mention, account: SQLWrapper): SQL => {
  const requesters = sql`json_each(coalesce(${item.requesters}, json_array(${item.fromAccountId})))`
  const isOwn = sql`(${r.id} = ${account} OR ${r.ownerId} IS ${account})`
  const from = sql`FROM ${requesters} n JOIN ${accounts} ${r} ON ${r.id} = n.value`
  return sql`(EXISTS (SELECT 1 ${from} WHERE ${isOwn})
    AND NOT EXISTS (SELECT 1 ${from} JOIN ${accounts} ${who} ON ${who.id} = ${account} WHERE ${who.role} = 'guest' AND NOT ${isOwn}))`
}

/**
 * Whether an account may lift the limit that stopped a mention. It spends the money of the requesters, so only they
 * may, and moderators of the community. A guest may as the only requester.
 */
export const mayLiftSql = (item: Mention, account: SQLWrapper): SQL => sql`
  (${isPayerSql(item, account)} OR EXISTS (SELECT 1 FROM ${posts} ${liftPost} ${unfiltered('limits')}
    WHERE ${liftPost.id} = ${item.postId} AND ${mayModerateSql(account, liftPost.communityId)}))`
