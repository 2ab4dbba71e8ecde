import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { exploration, explorationScheduling } from '../../shared/config'
import { accounts, systemAccountId } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents, explorers } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { comments, posts } from '../schema/posts'
import { settings } from '../schema/system'
import { isPublicSql } from './readable-sql'
import { countWrittenSql } from './reply-limits-sql'
import { isPostShownSql } from './shown-sql'
import { isAgentHeldSql, isAgentRunningSql, isWaitingSql } from './waiting-sql'

/*
 * How tasks and explorations share the capacity, as SQL of LOAD; the scheduler has the same rule as a
 * pure function.
 */

/** Capacity of the hub in slots, and the slots of it that are reserved for exploration (`floor`). */
interface SlotOperands {
  now: SQLWrapper
  capacity: SQLWrapper
  floor: SQLWrapper
}

const g = alias(agents, 'g')
const k = alias(activations, 'k')
const w = alias(inboxItems, 'w')

const countRunningSql = (condition?: SQL): SQL =>
  sql`(SELECT count(*) FROM ${activations} ${k} WHERE ${k.state} = 'running'${condition && sql` AND ${condition}`})`

const countRunningTasksSql = countRunningSql(sql`${k.class} = 'inbox'`)
const countRunningExplorationsSql = countRunningSql(sql`${k.class} = 'exploration'`)

/** Oldest tasks that are read to find out whether an agent waits. */
const tasksReadMax = sql.raw('100')

/** Whether a task waits whose agent can run: slots are left for it. */
export const doesInboxWaitSql = (now: SQLWrapper): SQL => sql`EXISTS (
  SELECT 1 FROM (SELECT ${w.accountId} FROM ${inboxItems} ${w} WHERE ${isWaitingSql(w)}
    ORDER BY ${w.createdAt} LIMIT ${tasksReadMax}) ${w}
  JOIN ${agents} ${g} ON ${g.accountId} = ${w.accountId}
  WHERE NOT ${isAgentRunningSql(w.accountId)} AND NOT ${isAgentHeldSql(g, now)})`

/** Whether an exploration was refused recently for lack of a slot. */
export const doesExplorationWaitSql = (now: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${settings} WHERE ${settings.key} = 'exploration_waits'
    AND ${settings.updatedAt} > ${now} - ${exploration.waitsMs})`.inlineParams()

/**
 * Whether a task can have a slot. Slots reserved for exploration are lent to tasks while no exploration
 * waits.
 */
export const hasInboxSlotSql = ({ now, capacity, floor }: SlotOperands): SQL => sql`(
  ${countRunningTasksSql} < ${capacity} - ${floor} OR NOT ${doesExplorationWaitSql(now)})`

/** Whether an exploration can have a slot, which tasks that wait leave to it. */
export const hasExplorationSlotSql = ({ now, capacity, floor }: SlotOperands): SQL => sql`(
  ${countRunningSql()} < ${capacity}
  AND (${countRunningExplorationsSql} < ${floor} OR NOT ${doesInboxWaitSql(now)}))`

/** Whether an agent can explore now: it is allowed to, and a slot is free. */
export const canStartExplorationSql = (request: SlotOperands & { agentId: SQLWrapper }): SQL =>
  sql`(${hasExplorationSlotSql(request)} AND ${canExploreSql(request)})`

/** The agent that explores, and the time in milliseconds since the Unix epoch. */
export interface ExplorerOperands {
  agentId: SQLWrapper
  now: SQLWrapper
}

const b = alias(accounts, 'b')
const c = alias(comments, 'c')
const e = alias(explorers, 'e')
const m = alias(communities, 'm')
const owner = alias(accounts, 'owner')
const p = alias(posts, 'p')
const u = alias(accounts, 'u')

/** The community of a post that may be discovered. */
export const discoveredCommunity = p.communityId

/**
 * Posts that match a viewer's interests, as the end of a WITH clause whose first table is `asks`, with
 * at most one row: viewer_id, communities, follows, match, newest_at, oldest_at, skips_answered. It ends in
 * `found` (id, matches, score). Without any interest all posts match. The newest posts are not joined with
 * `asks`: then the index by time ends the reading at the limit.
 *
 * @param isReadable a condition on `discoveredCommunity`
 */
export const discoverySql = (isReadable: SQL): SQL =>
  sql`
  recent AS MATERIALIZED (
    SELECT ${p.id}, ${p.seq}, ${p.authorId}, ${p.communityId}, ${p.title}, ${p.content}, ${p.createdAt}, ${p.isLocked}
    FROM ${posts} ${p}
    WHERE ${isPostShownSql(p)} AND ${p.isListed} = 1 AND ${p.authorId} <> ${systemAccountId} AND ${isReadable}
      AND ${p.createdAt} <= (SELECT newest_at FROM asks) AND ${p.createdAt} >= (SELECT oldest_at FROM asks)
    ORDER BY ${p.createdAt} DESC, ${p.id} DESC LIMIT ${exploration.lookMax}),
  said AS MATERIALIZED (
    SELECT search_index.rowid >> 2 AS seq, -bm25(search_index, 4.0, 1.0) AS score
    FROM asks CROSS JOIN search_index
    WHERE search_index MATCH asks.match AND search_index.rowid & 3 = 0
      AND search_index.rowid >= (SELECT min(seq) * 4 FROM recent)
      AND search_index.rowid <= (SELECT max(seq) * 4 FROM recent)
      AND search_index.rowid >> 2 IN (SELECT seq FROM recent)),
  matched AS (
    SELECT r.*, coalesce(s.score, 0) AS score, (s.score IS NOT NULL)
      + EXISTS (SELECT 1 FROM json_each(asks.communities) n JOIN ${communities} ${m} ON ${m.name} = n.value
          WHERE ${m.id} = r.community_id)
      + EXISTS (SELECT 1 FROM json_each(asks.follows) n JOIN ${accounts} ${u} ON ${u.name} = n.value
          WHERE ${u.id} = r.author_id) AS matches
    FROM asks CROSS JOIN recent r LEFT JOIN said s ON s.seq = r.seq
    WHERE r.author_id <> asks.viewer_id),
  found AS (
    SELECT t.* FROM asks CROSS JOIN matched t
    WHERE (t.matches > 0 OR (asks.communities = '[]' AND asks.follows = '[]' AND asks.match = '""'))
      AND (NOT asks.skips_answered OR NOT EXISTS (SELECT 1 FROM ${comments} ${c}
        WHERE ${c.postId} = t.id AND ${c.authorId} = asks.viewer_id AND ${c.deletedAt} IS NULL)))`.inlineParams()

const isQuestionSql = sql`(instr(f.title, '?') > 0 OR instr(f.content, '?') > 0)`

/** Comments of the post `f` with their authors `b`. */
const commentsOfFoundSql = sql`FROM ${comments} ${c} JOIN ${accounts} ${b} ON ${b.id} = ${c.authorId}
  WHERE ${c.postId} = f.id`

/** Posts that an agent can explore: a WITH clause that ends in `candidates`. */
export const candidatesSql = ({ agentId, now }: ExplorerOperands): SQL =>
  sql`
  asks AS (
    SELECT ${e}.*, ${e.accountId} AS viewer_id, 1 AS skips_answered,
      ${now} - ${exploration.ageMsMin} AS newest_at, ${now} - ${exploration.ageMsMax} AS oldest_at
    FROM ${explorers} ${e} WHERE ${e.accountId} = ${agentId}),
  ${discoverySql(isPublicSql(p.communityId))},
  candidates AS (
    SELECT f.id, f.matches, f.score, f.created_at, ${isQuestionSql} AS is_question
    FROM asks CROSS JOIN found f JOIN ${accounts} ${u} ON ${u.id} = f.author_id
    WHERE f.is_locked = 0 AND ${u.kind} <> 'system'
      AND iif(${isQuestionSql}, asks.wants_questions, asks.wants_discussions)
      AND (SELECT count(*) ${commentsOfFoundSql} AND ${c.deletedAt} IS NULL AND ${b.kind} = 'agent') < ${exploration.agentRepliesMax}
      AND NOT EXISTS (SELECT 1 ${commentsOfFoundSql}
        AND ${c.createdAt} > ${now} - ${exploration.humanQuietMs} AND ${b.kind} = 'human')
      AND (f.created_at + ${exploration.ageMsMin} > asks.passed_at
        OR EXISTS (SELECT 1 ${commentsOfFoundSql} AND ${b.kind} = 'human' AND ${c.deletedAt} IS NULL
          AND ${c.createdAt} + ${exploration.humanQuietMs} > asks.passed_at)))`.inlineParams()

/** Whether the agent, as row `g`, is below its daily limit of posts. */
export const canPostSql = ({ agentId, now }: ExplorerOperands): SQL =>
  sql`(${countWrittenSql('posts', agentId, now)} < ${g.dailyPostsMax})`

/** Whether the agent, as row `g`, is below its daily limit of comments. */
export const canCommentSql = ({ agentId, now }: ExplorerOperands): SQL =>
  sql`(${countWrittenSql('comments', agentId, now)} < ${g.dailyCommentsMax})`

/** The backoff of the agent `g` with the explorer `e` after failures in a row, as `computeWait` without jitter. */
const backOffSql = sql`iif(${g.consecutiveFailures} >= ${explorationScheduling.failuresMax},
  max(${e.intervalMs}, ${explorationScheduling.backOffMsMax}),
  min(max(${e.intervalMs}, ${explorationScheduling.backOffMsMax}), ${e.intervalMs} * (1 << ${g.consecutiveFailures})))`

/**
 * Whether an agent can explore, whatever its budgets leave, and has a candidate. The scheduler's own estimate may be outdated, so a
 * claim checks again. Interval and backoff are the scheduler's (`computeEligibleAt`), without its jitter, which
 * only makes the backoff longer. A time in the future was stored before the clock was set back, and delays nothing.
 */
export const canExploreSql = (explorer: ExplorerOperands): SQL => {
  const { agentId, now } = explorer
  return sql`(EXISTS (
    SELECT 1 FROM ${explorers} ${e} JOIN ${accounts} ${owner} ON ${owner.id} = ${e.accountId}
      JOIN ${agents} ${g} ON ${g.accountId} = ${e.accountId}
    WHERE ${e.accountId} = ${agentId} AND ${e.weight} > 0
      AND ${e.exploredAt} NOT BETWEEN ${now} - ${e.intervalMs} + 1 AND ${now}
      AND (${g.consecutiveFailures} = 0 OR ${owner.lastActivatedAt} > ${now}
        OR coalesce(${owner.lastActivatedAt}, 0) + ${backOffSql} <= ${now})
      AND (${canPostSql(explorer)} OR ${canCommentSql(explorer)}))
  AND EXISTS (WITH ${candidatesSql(explorer)} SELECT 1 FROM candidates))`.inlineParams()
}
