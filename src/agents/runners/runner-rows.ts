import type { AccountId, ActivationId } from '../../shared/ids'
import type { RunnerMessage } from '../../shared/runner-protocol'
import type { NewRun } from '../contract/coding-agents'

/** An attempt of one activation. */
export type RunKey = Pick<NewRun, 'activation_id' | 'attempt'>

/** What a runner says of itself. */
export type RunnerFacts = Pick<
  Extract<RunnerMessage, { type: 'hello' }>,
  'version' | 'labels' | 'slots' | 'has_sandbox' | 'programs'
>

/** A runner, connected or not. Times are milliseconds since the Unix epoch. */
export interface StoredRunner {
  id: string
  keyId: string
  accountId: AccountId
  name: string
  /** Origin of the hub, as the runner reaches it. */
  origin: string
  facts: RunnerFacts
  isDraining: boolean
  /** When the present or the last connection began. */
  connectedAt: number
  /** Null while it is connected. */
  disconnectedAt: number | null
  seenAt: number
  /** When it was last given a run; 0: never. */
  assignedAt: number
}

/**
 * `waiting` for a runner; `assigned` to one, and sent once `sentAt` is set; `stopping`: its runner
 * was sent a stop; `lost`: not reported to its agent yet; `ended`: remembered, so that it does not start again.
 */
export type RunState = 'waiting' | 'assigned' | 'stopping' | 'lost' | 'ended'

/** An attempt, without the texts of its order. Times are milliseconds since the Unix epoch. */
export interface StoredRun {
  activationId: ActivationId
  attempt: number
  agentId: AccountId
  agent: string
  needs: Pick<NewRun, 'program' | 'builtin' | 'runs_on'> & Partial<Pick<NewRun, 'session_id'>>
  state: RunState
  /** Its runner, or the last one. */
  runnerId: string | null
  refusedBy: string[]
  /** The highest report that the agent has stored. */
  stored: number
  createdAt: number
  /** Set before the order is sent, so that an attempt is sent at most once. */
  sentAt: number | null
  endsAt: number
  /** When something is to be done about it; null: nothing before `endsAt`. */
  dueAt: number | null
  /** Why it was lost. */
  reason: string | null
}

export interface RunnerRow extends Record<string, SqlStorageValue> {
  id: string
  key_id: string
  account_id: string
  name: string
  origin: string
  facts: string
  is_draining: number
  connected_at: number
  disconnected_at: number | null
  seen_at: number
  assigned_at: number
}

export interface RunRow extends Record<string, SqlStorageValue> {
  activation_id: string
  attempt: number
  agent_id: string
  agent: string
  needs: string
  state: string
  runner_id: string | null
  refused_by: string
  stored: number
  created_at: number
  sent_at: number | null
  ends_at: number
  due_at: number | null
  reason: string | null
}

/** The columns of a run, without its order. */
export const runColumns = `activation_id, attempt, agent_id, agent, needs, state, runner_id, refused_by, stored,
  created_at, sent_at, ends_at, due_at, reason`

export const runnerTables = [
  `CREATE TABLE IF NOT EXISTS program_sessions (session TEXT PRIMARY KEY, runner_id TEXT NOT NULL, at INTEGER NOT NULL)
    WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS runners (
    id TEXT PRIMARY KEY, key_id TEXT NOT NULL, account_id TEXT NOT NULL, name TEXT NOT NULL, origin TEXT NOT NULL,
    facts TEXT NOT NULL, is_draining INTEGER NOT NULL DEFAULT 0, connected_at INTEGER NOT NULL,
    disconnected_at INTEGER, seen_at INTEGER NOT NULL, assigned_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (key_id, name))`,
  `CREATE TABLE IF NOT EXISTS runs (
    activation_id TEXT NOT NULL, attempt INTEGER NOT NULL, agent_id TEXT NOT NULL, agent TEXT NOT NULL,
    needs TEXT NOT NULL, run TEXT NOT NULL, state TEXT NOT NULL, runner_id TEXT, refused_by TEXT NOT NULL,
    stored INTEGER NOT NULL, created_at INTEGER NOT NULL, sent_at INTEGER, ends_at INTEGER NOT NULL, due_at INTEGER,
    reason TEXT, PRIMARY KEY (activation_id, attempt)) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS runs_open ON runs (state, created_at) WHERE state <> 'ended'`,
]

export const toRunner = (row: RunnerRow): StoredRunner => ({
  id: row.id,
  keyId: row.key_id,
  accountId: row.account_id as AccountId,
  name: row.name,
  origin: row.origin,
  facts: JSON.parse(row.facts),
  isDraining: row.is_draining === 1,
  connectedAt: row.connected_at,
  disconnectedAt: row.disconnected_at,
  seenAt: row.seen_at,
  assignedAt: row.assigned_at,
})

export const toRun = (row: RunRow): StoredRun => ({
  activationId: row.activation_id as ActivationId,
  attempt: row.attempt,
  agentId: row.agent_id as AccountId,
  agent: row.agent,
  needs: JSON.parse(row.needs),
  state: row.state as RunState,
  runnerId: row.runner_id,
  refusedBy: JSON.parse(row.refused_by),
  stored: row.stored,
  createdAt: row.created_at,
  sentAt: row.sent_at,
  endsAt: row.ends_at,
  dueAt: row.due_at,
  reason: row.reason,
})

export const toRunKey = ({ activationId, attempt }: StoredRun): RunKey => ({
  activation_id: activationId,
  attempt,
})
