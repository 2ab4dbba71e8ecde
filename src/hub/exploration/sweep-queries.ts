import { exploration } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import { isBeyondThrottleSql, isCurrentWindowSql } from '../budgets/scope-sql'
import type { DueSchedule, SweepQuery } from '../contract/hub'
import type { Db } from '../db'

/** Agents that one sweep reports at most. */
export const explorersPerPage = 2_000
/**
 * Milliseconds; no activation lasts longer. One that started this long before the last sweep may have
 * ended since.
 */
const activationMsMax = 3_600_000
/** Newest comments that are searched for the latest comment of a person. */
const commentsReadMax = 200

/** An agent with what its explorations depend on. */
export interface ExplorerRow {
  agentId: AccountId
  weight: number
  intervalMs: number
  lastActivatedAt: number
  consecutiveFailures: number
  isPaused: number
}

/** The account that assigns scheduled tasks. */
const systemAccountId = '00000000-0000-7000-8000-000000000001'

const explorerSql = (condition: string) => `
  SELECT e.account_id AS agentId, e.weight, e.interval_ms AS intervalMs,
    coalesce(c.last_activated_at, 0) AS lastActivatedAt, g.consecutive_failures AS consecutiveFailures,
    g.is_paused AS isPaused
  FROM explorers e JOIN agents g ON g.account_id = e.account_id JOIN accounts c ON c.id = e.account_id
  WHERE e.account_id > ?1 AND ${condition}
  ORDER BY e.account_id LIMIT ${explorersPerPage}`

const changedSql = explorerSql(`e.account_id IN (
  SELECT account_id FROM agents WHERE updated_at >= ?2
  UNION SELECT agent_id FROM activations WHERE started_at > ?2 - ${activationMsMax})`)

/** Selects a page of the agents that changed since the last sweep, or of all agents. */
const selectExplorers = (db: Db, { since, after }: SweepQuery): D1PreparedStatement =>
  since === 0
    ? db.d1.prepare(explorerSql('1')).bind(after ?? '')
    : db.d1.prepare(changedSql).bind(after ?? '', since)

const selectSchedules = (db: Db, until: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT account_id AS agentId, key, cron, timezone, due_at AS dueAt FROM schedules
       WHERE due_at <= ?1 ORDER BY due_at LIMIT 1000`,
    )
    .bind(until)

/** State of the hub; times are in milliseconds since the Unix epoch. */
export interface HubStateRow {
  lastPostAt: number | null
  seenPostAt: number | null
  lastWordAt: number | null
  isThrottled: number
  runningExploration: number
}

const listedSql = 'FROM posts WHERE deleted_at IS NULL AND is_listed = 1'

const selectHubState = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT (SELECT max(created_at) ${listedSql}) AS lastPostAt,
         (SELECT max(created_at) ${listedSql} AND created_at <= ?1 - ${exploration.ageMsMin}) AS seenPostAt,
         (SELECT max(c.created_at) FROM (SELECT author_id, created_at FROM comments ORDER BY seq DESC LIMIT ${commentsReadMax}) c
           JOIN accounts a ON a.id = c.author_id AND a.kind = 'human') AS lastWordAt,
         EXISTS (SELECT 1 FROM budgets b
           JOIN budget_windows w ON ${isCurrentWindowSql('b', 'w', '?1')}
           WHERE b.scope = 'hub' AND ${isBeyondThrottleSql('b', 'w')}) AS isThrottled,
         (SELECT count(*) FROM activations WHERE state = 'running' AND class = 'exploration') AS runningExploration`,
    )
    .bind(now)

/** Returns the statements that answer the scheduler's question, in this order: agents, schedules, hub. */
export const explorationStatements = (
  db: Db,
  now: number,
  question: SweepQuery,
): D1PreparedStatement[] => [
  selectExplorers(db, question),
  selectSchedules(db, question.until),
  selectHubState(db, now),
]

/**
 * Inserts the tasks of due schedules, then sets their next due time. A schedule whose due time has
 * changed meanwhile is skipped. At most one task of each schedule waits, however long it is not claimed.
 */
export const assignScheduledStatements = (
  db: Db,
  due: (DueSchedule & { itemId: string })[],
  now: number,
): D1PreparedStatement[] => {
  const list = JSON.stringify(due)
  const joined = `json_each(?1) d JOIN schedules s ON s.account_id = d.value ->> 'agentId'
    AND s.key = d.value ->> 'key' AND s.due_at = d.value ->> 'dueAt'`
  return [
    db.d1
      .prepare(
        `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, task,
           schedule_key)
         SELECT d.value ->> 'itemId', s.account_id, 'task', u.id, s.task, ?2, 1, 'scheduled', s.key
         FROM ${joined} JOIN accounts u ON u.id = '${systemAccountId}'
         WHERE s.due_at > 0 AND NOT EXISTS (SELECT 1 FROM inbox_items w
           WHERE w.account_id = s.account_id AND w.schedule_key = s.key AND w.read_at IS NULL AND w.claimed_by IS NULL)`,
      )
      .bind(list, now),
    db.d1
      .prepare(
        `UPDATE schedules SET due_at = coalesce(u.next_at, ${Number.MAX_SAFE_INTEGER}) FROM (
           SELECT s.account_id, s.key, d.value ->> 'nextAt' AS next_at FROM ${joined}) u
         WHERE schedules.account_id = u.account_id AND schedules.key = u.key`,
      )
      .bind(list),
  ]
}
