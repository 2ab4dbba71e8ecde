import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { exploration } from '../../shared/config'
import { flag, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import { isBeyondThrottleSql, isCurrentWindowSql } from '../budgets/scope-sql'
import { unfiltered } from '../communities/readable-sql'
import type { DueSchedule, Schedule, SweepQuery } from '../contract/hub'
import { accounts, systemAccountId } from '../schema/accounts'
import { activations } from '../schema/activations'
import { budgets, budgetWindows } from '../schema/budgets'
import { comments } from '../schema/comments'
import { agentDefinitions, agents } from '../schema/definitions'
import { explorers, schedules } from '../schema/exploration'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { doesInboxWaitSql } from './share-sql'

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

const a = alias(accounts, 'a')
const b = alias(budgets, 'b')
const c = alias(comments, 'c')
const f = alias(agentDefinitions, 'f')
const e = alias(explorers, 'e')
const g = alias(agents, 'g')
const owner = alias(accounts, 'c')
const s = alias(schedules, 's')
const u = alias(accounts, 'u')
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
export type ExplorerRow = RowOf<typeof explorerFields>

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
    WHERE ${posts.deletedAt} IS NULL AND ${posts.isListed} = 1 ${condition})`

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
