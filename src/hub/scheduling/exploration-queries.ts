import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { DefinitionFacts } from '../../agents/contract/agents'
import { exploration } from '../../shared/config'
import { flag, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import { foldWord, wordPattern } from '../../shared/search-text'
import type { AccountKind, DueSchedule, Schedule, SweepQuery } from '../contract/hub'
import { unfiltered } from '../database/unfiltered-sql'
import { type PostRow, postFields, postTables } from '../posts/queries'
import {
  canCommentSql,
  candidatesSql,
  canPostSql,
  discoveredCommunity,
  discoverySql,
  doesInboxWaitSql,
  type ExplorerOperands,
} from '../rules/exploration-sql'
import { isBeyondThrottleSql, isCurrentWindowSql } from '../rules/payers-sql'
import { canReadSql } from '../rules/readable-sql'
import { isCommentShownSql, isPostShownSql } from '../rules/shown-sql'
import { accounts, systemAccountId } from '../schema/accounts'
import { activations } from '../schema/activations'
import { budgets, budgetWindows } from '../schema/budgets'
import { communities } from '../schema/communities'
import {
  agentDefinitions,
  agents,
  contributions,
  explorers,
  schedules,
} from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { comments, posts } from '../schema/posts'
import { type Credential, type ViewerValues, viewerCte, viewerValues } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

/** Returns an FTS5 query that matches any of the phrases; without phrases it matches nothing. */
export function toMatch(phrases: string[]): string {
  const quoted = phrases.flatMap((phrase) => {
    const words = phrase.match(wordPattern)?.map(foldWord)
    return words ? [`"${words.join(' ')}"`] : []
  })
  return quoted.length > 0 ? [...new Set(quoted)].join(' OR ') : '""'
}

const a = alias(accounts, 'a')
const c = alias(comments, 'c')
const e = alias(explorers, 'e')
const g = alias(agents, 'g')
const m = alias(communities, 'm')
const p = alias(posts, 'p')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

interface CandidateComment {
  id: AccountId
  name: string
  kind: AccountKind
  content: string
}

const newestCommentsSql = sql<CandidateComment[]>`
  (SELECT json_group_array(json_object('id', n.author_id, 'name', n.name, 'kind', n.kind, 'content', n.content))
    FROM (SELECT * FROM (
      SELECT ${c.authorId}, ${a.name}, ${a.kind}, substr(${c.content}, 1, ${exploration.commentChars}) AS content,
        ${c.createdAt}, ${c.id}
      FROM ${comments} ${c} JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId}
      WHERE ${c.postId} = ${p.id} AND ${isCommentShownSql(c)}
      ORDER BY ${c.createdAt} DESC, ${c.id} DESC LIMIT ${exploration.commentsShown})
      ORDER BY created_at, id) n)`
  .inlineParams()
  .mapWith((list: string): CandidateComment[] => JSON.parse(list))

const explorationFields = (explorer: ExplorerOperands) => ({
  postId: p.id,
  community: m.name,
  authorId: u.id,
  authorName: u.name,
  authorKind: u.kind,
  title: p.title,
  content: sql<string>`substr(${p.content}, 1, ${exploration.contentChars})`.inlineParams(),
  isQuestion: flag(sql`b.is_question`),
  createdAt: p.createdAt,
  commentCount: p.commentCount,
  /** Oldest first. */
  comments: newestCommentsSql,
  words: e.words,
  communities: e.communities,
  minConfidence: e.minConfidence,
  canPost: flag(canPostSql(explorer)),
  canComment: flag(canCommentSql(explorer)),
})

/** One candidate post, with the exploration settings of the agent's definition. */
export type ExplorationRow = RowOf<ReturnType<typeof explorationFields>>

interface ExplorationRequest {
  activationId: ActivationId
  agentId: AccountId
  now: number
}

/** Selects the candidates of the exploration that LOAD has just admitted, best match first. */
export const selectExploration = prepare((v: Params<ExplorationRequest>) =>
  manySql(
    explorationFields(v),
    sql`FROM best b CROSS JOIN ${posts} ${p} ON ${p.id} = b.id AND ${isPostShownSql(p)}
      CROSS JOIN ${communities} ${m} ON ${m.id} = ${p.communityId}
      CROSS JOIN ${accounts} ${u} ON ${u.id} = ${p.authorId}
      CROSS JOIN ${explorers} ${e} ON ${e.accountId} = ${v.agentId}
      CROSS JOIN ${agents} ${g} ON ${g.accountId} = ${v.agentId}
      ORDER BY b.matches DESC, b.score DESC, b.created_at DESC, b.id`,
    sql`WITH ${candidatesSql(v)},
      best AS MATERIALIZED (
        SELECT * FROM candidates
        WHERE EXISTS (SELECT 1 FROM ${activations} ${x}
          WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running' AND ${x.task} = 'exploration')
        ORDER BY matches DESC, score DESC, created_at DESC, id LIMIT ${exploration.candidatesMax})`.inlineParams(),
  ),
)

type ExplorationFacts = NonNullable<DefinitionFacts['exploration']>

/** Settings of an agent that does not explore. */
const noExploration: ExplorationFacts = {
  weight: 0,
  intervalMs: 0,
  minConfidence: 0,
  communities: [],
  follows: [],
  words: [],
  wantsQuestions: true,
  wantsDiscussions: true,
}

function upsertExplorer(
  accountId: AccountId,
  facts: ExplorationFacts | null | undefined,
  now: number,
): Statement<void> {
  const settings = { ...(facts ?? noExploration), updatedAt: now }
  const row = { ...settings, match: toMatch(settings.words) }
  return write(
    orm
      .insert(explorers)
      .values({ ...row, accountId })
      .onConflictDoUpdate({ target: explorers.accountId, set: row }),
  )
}

/**
 * Stores exploration and schedules of an agent's definition. An agent that no longer explores keeps its
 * row with a weight of 0, so that the next sweep reports the change to the scheduler.
 */
export function putExplorationStatements(
  agentId: AccountId,
  { exploration, schedules: entries }: DefinitionFacts,
  savedBy: AccountId,
  now: number,
): Statement<void>[] {
  const list = JSON.stringify(entries)
  return [
    upsertExplorer(agentId, exploration, now),
    write(
      orm
        .delete(schedules)
        .where(
          and(
            eq(schedules.accountId, agentId),
            sql`${schedules.key} NOT IN (SELECT value ->> 'key' FROM json_each(${list}))`,
          ),
        ),
    ),
    write(
      insertSelect(
        schedules,
        {
          accountId: agentId,
          key: sql`value ->> 'key'`,
          cron: sql`value ->> 'cron'`,
          timezone: sql`value ->> 'timezone'`,
          task: sql`value ->> 'task'`,
          // With a due time of 0 the scheduler computes the first due time.
          dueAt: 0,
          savedBy,
        },
        sql`FROM json_each(${list})`,
        { verb: 'INSERT OR IGNORE' },
      ),
    ),
  ]
}

const n = alias(contributions, 'n')

/** Fields of a committed activation, under the alias `x`, that are reported to the scheduler. */
export const explorationOutcomeFields = {
  isExplorer: flag(
    sql`EXISTS (SELECT 1 FROM ${explorers} ${e} WHERE ${e.accountId} = ${x.agentId} AND ${e.weight} > 0)`,
  ),
  isExploration: flag(sql`${x.class} = 'exploration'`),
  hasPassed: flag(
    sql`${x.task} = 'exploration' AND NOT EXISTS (SELECT 1 FROM ${contributions} ${n} WHERE ${n.activationId} = ${x.id})`,
  ),
}

export type ExplorationOutcomeRow = RowOf<typeof explorationOutcomeFields>

/** Interests and limits of a search for posts; times are in milliseconds since the Unix epoch. */
interface DiscoveryRequest {
  reader: Reader
  communities: string[]
  follows: string[]
  /** An FTS5 query of `toMatch`. */
  match: string
  newestAt: number
  oldestAt: number
  skipsAnswered: boolean
  limit: number
}

/** The request as bound: its lists are JSON. */
type DiscoveryValues = Omit<DiscoveryRequest, 'communities' | 'follows'> & {
  communities: string
  follows: string
}

const toValues = (request: DiscoveryRequest): DiscoveryValues => ({
  ...request,
  communities: JSON.stringify(request.communities),
  follows: JSON.stringify(request.follows),
})

/** @param viewer the clause `WITH viewer AS (...)`, with a column `id` */
const discover = (v: Params<DiscoveryValues>, viewer: SQL): Statement<PostRow[]> =>
  manySql(
    postFields,
    sql`FROM best CROSS JOIN ${postTables} WHERE p.id = best.found_id
      ORDER BY best.matches DESC, best.match_score DESC, best.found_at DESC, best.found_id`,
    sql`${viewer},
      asks AS (
        SELECT coalesce((SELECT id FROM viewer), '') AS viewer_id, ${v.communities} AS communities,
          ${v.follows} AS follows, ${v.match} AS match, ${v.newestAt} AS newest_at, ${v.oldestAt} AS oldest_at,
          ${v.skipsAnswered} AS skips_answered),
      ${discoverySql(canReadSql(discoveredCommunity, v.reader))},
      best AS MATERIALIZED (
        SELECT id AS found_id, matches, score AS match_score, created_at AS found_at FROM found
        ORDER BY matches DESC, match_score DESC, found_at DESC, found_id LIMIT ${v.limit})`,
  )

const discoverOwn = prepare((v: Params<DiscoveryValues & ViewerValues>) =>
  discover(v, viewerCte(v)),
)

const discoverFor = prepare((v: Params<DiscoveryValues & { accountId: AccountId }>) =>
  discover(v, sql`WITH viewer AS (SELECT ${v.accountId} AS id)`),
)

/**
 * Selects posts that match the viewer's interests, best match first. The viewer is a subquery, so
 * authentication costs no extra round trip.
 */
export const selectDiscovered = (
  credential: Credential | null,
  now: number,
  discovery: DiscoveryRequest,
): Statement<PostRow[]> => discoverOwn({ ...toValues(discovery), ...viewerValues(credential, now) })

/** Selects posts that match an account's interests, for tools. */
export const selectDiscoveredFor = (
  accountId: AccountId,
  discovery: DiscoveryRequest,
): Statement<PostRow[]> => discoverFor({ ...toValues(discovery), accountId })

/** Agents that one sweep reports at most. */
export const explorersPerPage = 2_000
const explorersMax = sql.raw(String(explorersPerPage))
/**
 * Milliseconds; no activation lasts longer. One that started this long before the last sweep may have
 * ended since.
 */
const activationMsMax = sql.raw('3600000')
/** Newest comments that are searched for the latest comment of a person. */
const commentsReadMax = sql.raw('200')
const b = alias(budgets, 'b')
const f = alias(agentDefinitions, 'f')
const owner = alias(accounts, 'c')
const s = alias(schedules, 's')
const w = alias(budgetWindows, 'w')
const waiting = alias(inboxItems, 'w')

const explorerFields = {
  agentId: e.accountId,
  weight: e.weight,
  intervalMs: e.intervalMs,
  lastExploredAt: e.exploredAt,
  lastActivatedAt: number(sql`coalesce(${owner.lastActivatedAt}, 0)`),
  consecutiveFailures: g.consecutiveFailures,
  isPaused: g.isPaused,
}

/** An agent with what its explorations depend on. */
type ExplorerRow = RowOf<typeof explorerFields>

const explorersSql = (after: SQLWrapper, condition?: SQL): SQL => sql`
  FROM ${explorers} ${e} JOIN ${agents} ${g} ON ${g.accountId} = ${e.accountId}
    JOIN ${accounts} ${owner} ON ${owner.id} = ${e.accountId}
  WHERE ${e.accountId} > ${after} ${condition}
  ORDER BY ${e.accountId} LIMIT ${explorersMax}`

const selectAllExplorers = prepare(({ after }: Params<{ after: string }>) =>
  manySql(explorerFields, explorersSql(after)),
)

const selectChangedExplorers = prepare(
  ({ after, since }: Params<{ after: string; since: number }>) =>
    manySql(
      explorerFields,
      explorersSql(
        after,
        sql`AND ${e.accountId} IN (
          SELECT ${agents.accountId} FROM ${agents} WHERE ${agents.updatedAt} >= ${since}
          UNION SELECT ${activations.agentId} FROM ${activations} WHERE ${activations.startedAt} > ${since} - ${activationMsMax})`,
      ),
    ),
)

/** Selects a page of the agents that changed since the last sweep, or of all agents. */
const selectExplorers = ({ since, after }: SweepQuery): Statement<ExplorerRow[]> =>
  since === 0
    ? selectAllExplorers({ after: after ?? '' })
    : selectChangedExplorers({ after: after ?? '', since })

const selectSchedules: (range: { until: number }) => Statement<Schedule[]> = prepare(
  ({ until }: Params<{ until: number }>) =>
    manySql(
      {
        agentId: schedules.accountId,
        key: schedules.key,
        cron: schedules.cron,
        timezone: schedules.timezone,
        dueAt: schedules.dueAt,
      },
      sql`FROM ${schedules} WHERE ${schedules.dueAt} <= ${until} ORDER BY ${schedules.dueAt} LIMIT 1000`,
    ),
)

const newestPostSql = (condition?: SQL): SQL<number | null> => sql`
  (SELECT max(${posts.createdAt}) FROM ${posts} ${unfiltered('operator')}
    WHERE ${posts.deletedAt} IS NULL AND ${posts.isListed} = 1 AND ${posts.authorId} <> ${systemAccountId} ${condition})`

/** Times are in milliseconds since the Unix epoch. */
const hubStateFields = (now: SQLWrapper) => ({
  lastPostAt: newestPostSql(),
  seenPostAt: newestPostSql(
    sql`AND ${posts.createdAt} <= ${now} - ${sql.raw(String(exploration.ageMsMin))}`,
  ),
  /** Time of the latest comment of a person. */
  lastPersonAt: sql<number | null>`
    (SELECT max(${c.createdAt}) FROM (SELECT ${comments.authorId}, ${comments.createdAt} FROM ${comments} ${unfiltered('operator')}
        ORDER BY ${comments.seq} DESC LIMIT ${commentsReadMax}) ${c}
      JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId} AND ${a.kind} = 'human')`,
  isThrottled: flag(sql`
    EXISTS (SELECT 1 FROM ${budgets} ${b} JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, now)}
      WHERE ${b.scope} = 'hub' AND ${isBeyondThrottleSql(b, w)})`),
  isInboxWaiting: flag(doesInboxWaitSql(now)),
  runningExploration: number(sql`
    (SELECT count(*) FROM ${activations}
      WHERE ${activations.state} = 'running' AND ${activations.class} = 'exploration')`),
})

/** State of the hub that explorations depend on. */
export type HubStateRow = RowOf<ReturnType<typeof hubStateFields>>

const selectHubState = prepare(({ now }: Params<{ now: number }>) =>
  oneSql(hubStateFields(now), sql``),
)

/** A schedule without a next due time is never due again. */
const neverDue = sql.raw(String(Number.MAX_SAFE_INTEGER))

/** Makes schedules that are due later new ones, which get a due time and no task. */
const resetDueTimes = prepare(({ now }: Params<{ now: number }>) =>
  write(
    updateSet(
      schedules,
      { dueAt: 0 },
      sql`WHERE ${schedules.dueAt} > ${now} AND ${schedules.dueAt} < ${neverDue}`,
    ),
  ),
)

/** Returns the statements that answer the scheduler's question. */
export const explorationStatements = (now: number, question: SweepQuery) => ({
  reset: question.isClockBack ? resetDueTimes({ now }) : null,
  explorers: selectExplorers(question),
  schedules: selectSchedules({ until: question.until }),
  hubState: selectHubState({ now }),
})

/** Due schedules, given as a JSON list of `DueSchedule`, whose due time has not changed meanwhile. */
const dueSchedulesSql = (due: SQLWrapper): SQL => sql`
  json_each(${due}) d JOIN ${schedules} ${s} ON ${s.accountId} = d.value ->> 'agentId'
    AND ${s.key} = d.value ->> 'key' AND ${s.dueAt} = d.value ->> 'dueAt'`

/**
 * For whom the scheduled tasks of an agent run: who saved the definition, and the owner of the agent, because the
 * other may have written the tasks.
 */
export const scheduleRequestersSql = (
  agent: SQLWrapper,
): SQL => sql`(SELECT json_group_array(n.id) FROM (
  SELECT ${f.createdBy} AS id FROM ${agents} ${g} JOIN ${agentDefinitions} ${f}
    ON ${f.accountId} = ${g.accountId} AND ${f.version} = ${g.definitionVersion} WHERE ${g.accountId} = ${agent}
  UNION SELECT ${a.ownerId} FROM ${accounts} ${a} WHERE ${a.id} = ${agent}) n WHERE n.id IS NOT NULL)`

/**
 * Who saved a schedule: the entry itself, as long as its tasks run for that account; otherwise the definition, for
 * whose author they do.
 */
const scheduleSaverSql = sql`coalesce(
  (SELECT r.value FROM json_each(${scheduleRequestersSql(s.accountId)}) r WHERE r.value = ${s.savedBy}),
  (SELECT ${f.createdBy} FROM ${agents} ${g} JOIN ${agentDefinitions} ${f}
    ON ${f.accountId} = ${g.accountId} AND ${f.version} = ${g.definitionVersion} WHERE ${g.accountId} = ${s.accountId}))`

const insertScheduledTasks = prepare(({ due, now }: Params<{ due: string; now: number }>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: sql`d.value ->> 'itemId'`,
        accountId: s.accountId,
        type: 'task',
        fromAccountId: u.id,
        content: s.task,
        createdAt: now,
        isTask: true,
        task: 'scheduled',
        scheduleKey: s.key,
        savedBy: scheduleSaverSql,
        requesters: scheduleRequestersSql(s.accountId),
      },
      sql`FROM ${dueSchedulesSql(due)} JOIN ${accounts} ${u} ON ${u.id} = ${systemAccountId}
        WHERE ${s.dueAt} > 0 AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${waiting}
          WHERE ${waiting.accountId} = ${s.accountId} AND ${waiting.scheduleKey} = ${s.key}
            AND ${waiting.readAt} IS NULL AND ${waiting.claimedBy} IS NULL)`,
    ),
  ),
)

const updateDueTimes = prepare(({ due }: Params<{ due: string }>) =>
  write(
    updateSet(
      schedules,
      { dueAt: sql`coalesce(u.next_at, ${neverDue})` },
      sql`FROM (
          SELECT ${s.accountId}, ${s.key}, d.value ->> 'nextAt' AS next_at FROM ${dueSchedulesSql(due)}) u
        WHERE ${schedules.accountId} = u.account_id AND ${schedules.key} = u.key`,
    ),
  ),
)

/**
 * Inserts the tasks of due schedules, then sets their next due time. A schedule whose due time has
 * changed meanwhile is skipped. At most one task of each schedule waits, however long it is not claimed.
 */
export function assignScheduledStatements(
  due: (DueSchedule & { itemId: string })[],
  now: number,
): Statement<void>[] {
  const list = JSON.stringify(due)
  return [insertScheduledTasks({ due: list, now }), updateDueTimes({ due: list })]
}
