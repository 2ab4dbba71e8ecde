import { exploration, schedulerPages } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import { isHubPausedSql, isWaitingSql } from '../activations/waiting'
import { isThrottledSql } from '../budgets/scope-sql'
import type { AccountKind } from '../contract/hub'
import type { Db } from '../db'
import { dailyLimitSql } from '../reply-limits/reply-limit-sql'

/** Counts stop here and are shown as "1,000 or more", so that a long queue costs no more. */
export const countMax = 1_000
const leasesMax = 200
/** Newest activations that are read to measure how long tasks waited. */
const startsReadMax = 100
const DAY_MS = 86_400_000

/** State of the hub. Flags are 0 or 1; times are in milliseconds since the Unix epoch. */
export interface HubState {
  isPaused: number
  running: number
  runningExploration: number
  isExplorationWaiting: number
  tasksWaiting: number
  oldestTaskAt: number | null
}

const selectHubState = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${isHubPausedSql} AS isPaused,
         (SELECT count(*) FROM activations WHERE state = 'running') AS running,
         (SELECT count(*) FROM activations WHERE state = 'running' AND class = 'exploration') AS runningExploration,
         EXISTS (SELECT 1 FROM settings WHERE key = 'exploration_waits'
           AND updated_at > ?1 - ${exploration.waitsMs}) AS isExplorationWaiting,
         (SELECT count(*) FROM (SELECT 1 FROM inbox_items i WHERE ${isWaitingSql('i')} LIMIT ${countMax})) AS tasksWaiting,
         (SELECT i.created_at FROM inbox_items i WHERE ${isWaitingSql('i')}
           ORDER BY i.created_at LIMIT 1) AS oldestTaskAt`,
    )
    .bind(now)

const isRunningSql = (agent: string) =>
  `EXISTS (SELECT 1 FROM activations r WHERE r.agent_id = ${agent} AND r.state = 'running')`

/**
 * A task that no activation has claimed. The sender of a direct message is left out, because it is
 * private.
 */
export interface WaitingTask {
  id: string
  agentName: string
  task: string
  fromName: string | null
  fromKind: AccountKind | null
  postId: string | null
  community: string | null
  createdAt: number
  isRunning: number
  isPaused: number
}

const selectTasks = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT i.id, a.name AS agentName, coalesce(i.task, i.type) AS task,
       iif(i.type = 'dm', NULL, f.name) AS fromName, iif(i.type = 'dm', NULL, f.kind) AS fromKind,
       p.id AS postId, m.name AS community, i.created_at AS createdAt,
       ${isRunningSql('i.account_id')} AS isRunning, g.is_paused AS isPaused
     FROM (SELECT * FROM inbox_items w WHERE ${isWaitingSql('w')}
       ORDER BY w.created_at LIMIT ${schedulerPages.tasks}) i
     JOIN agents g ON g.account_id = i.account_id JOIN accounts a ON a.id = i.account_id
     LEFT JOIN accounts f ON f.id = i.from_account_id
     LEFT JOIN posts p ON p.id = i.post_id AND p.deleted_at IS NULL
     LEFT JOIN communities m ON m.id = p.community_id
     ORDER BY i.created_at, i.id`,
  )

/** A running activation: its row is the lease of a slot and of reserved money. */
export interface Lease {
  id: string
  agentName: string
  class: 'inbox' | 'exploration'
  task: string
  postTitle: string | null
  startedAt: number
  deadlineAt: number
  reservedMicrousd: number
}

const selectLeases = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT x.id, a.name AS agentName, x.class, x.task, p.title AS postTitle, x.started_at AS startedAt,
       x.deadline_at AS deadlineAt, x.reserved_microusd AS reservedMicrousd
     FROM activations x JOIN accounts a ON a.id = x.agent_id
     LEFT JOIN posts p ON p.id = x.post_id AND p.deleted_at IS NULL
     WHERE x.state = 'running' ORDER BY x.started_at, x.id LIMIT ${leasesMax}`,
  )

/** Selects how long each of the last tasks waited for its activation, in milliseconds. */
const selectStarts = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT max(0, x.started_at - min(i.created_at)) AS ms
       FROM (SELECT id, started_at FROM activations WHERE started_at > ?1
         ORDER BY started_at DESC, id DESC LIMIT ${startsReadMax}) x
       JOIN inbox_items i ON i.claimed_by = x.id GROUP BY x.id`,
    )
    .bind(now - DAY_MS)

export const agentStates = ['all', 'running', 'waiting', 'paused', 'failing', 'off'] as const
export type AgentStateFilter = (typeof agentStates)[number]

/** Filter and page of the list of agents. */
export interface AgentPageRequest {
  state: AgentStateFilter
  /** Prefix of the name; '' for all. */
  name: string
  /** Keyset: last run and id of the last agent seen. */
  after: [number, string] | null
  limit: number
}

/** An agent of this hub. Flags are 0 or 1. */
export interface AgentRow {
  id: AccountId
  name: string
  /** 0 when it never ran. */
  lastActivatedAt: number
  isPaused: number
  isRunning: number
  failures: number
  /** Exploration interval in milliseconds; null when the agent does not explore. */
  intervalMs: number | null
  weight: number
  tasksWaiting: number
  isThrottled: number
  isCapped: number
}

const tasksOfSql = `inbox_items i WHERE i.account_id = a.id AND ${isWaitingSql('i')}`

const stateConditions: Record<AgentStateFilter, string> = {
  all: '1',
  running: isRunningSql('a.id'),
  waiting: `EXISTS (SELECT 1 FROM ${tasksOfSql})`,
  paused: 'k.is_paused = 1',
  failing: 'k.consecutive_failures > 0',
  off: 'NOT EXISTS (SELECT 1 FROM explorers e WHERE e.account_id = a.id AND e.weight > 0)',
}

/** The expression of the index `accounts_quiet`: the longest idle agent comes first. */
const lastRunSql = 'coalesce(a.last_activated_at, 0)'

const selectAgents = (db: Db, page: AgentPageRequest, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT a.id, a.name, ${lastRunSql} AS lastActivatedAt, k.is_paused AS isPaused,
         ${isRunningSql('a.id')} AS isRunning, k.consecutive_failures AS failures,
         e.interval_ms AS intervalMs, coalesce(e.weight, 0) AS weight,
         (SELECT count(*) FROM (SELECT 1 FROM ${tasksOfSql} LIMIT ${countMax})) AS tasksWaiting,
         ${isThrottledSql('a.id', '?1')} AS isThrottled,
         (${dailyLimitSql('posts', 'a.id', '?1')} IS NOT NULL
           AND ${dailyLimitSql('comments', 'a.id', '?1')} IS NOT NULL) AS isCapped
       FROM accounts a CROSS JOIN agents k ON k.account_id = a.id
       LEFT JOIN explorers e ON e.account_id = a.id AND e.weight > 0
       WHERE a.kind = 'agent' AND a.is_imported = 0 AND (${lastRunSql}, a.id) > (?2, ?3)
         AND (?4 = '' OR substr(a.name, 1, length(?4)) = ?4 COLLATE NOCASE)
         AND ${stateConditions[page.state]}
       ORDER BY ${lastRunSql}, a.id LIMIT ?5`,
    )
    .bind(now, page.after?.[0] ?? -1, page.after?.[1] ?? '', page.name, page.limit + 1)

/**
 * Returns the statements of the scheduler's page, in this order: hub, waiting tasks, leases, starts,
 * agents (one more than the limit).
 */
export const boardStatements = (
  db: Db,
  page: AgentPageRequest,
  now: number,
): D1PreparedStatement[] => [
  selectHubState(db, now),
  selectTasks(db),
  selectLeases(db),
  selectStarts(db, now),
  selectAgents(db, page, now),
]
