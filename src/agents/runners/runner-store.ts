import { limits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { RunnerMessage } from '../../shared/runner-protocol'
import type { NewRun } from '../contract/coding-agents'

type RunChange = Partial<
  Pick<StoredRun, 'runnerId' | 'refusedBy' | 'stored' | 'sentAt' | 'dueAt' | 'reason'>
> & { state?: Exclude<RunState, 'ended'> }

const openStates = `('waiting', 'assigned', 'stopping', 'lost')`

/** The runners that are known and the runs that they were given, in the storage of the runners' object. */
export class RunnerStore {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const table of runnerTables) sql.exec(table)
  }

  // ------------------------------------------------------------ runners

  /** Stores a runner that has just connected; an earlier one with the same key and name is the same runner. */
  saveRunner(
    runner: Omit<StoredRunner, 'isDraining' | 'assignedAt' | 'disconnectedAt'>,
  ): StoredRunner {
    const { keyId, accountId, name, origin, facts, connectedAt, seenAt } = runner
    return toRunner(
      this.#sql
        .exec<RunnerRow>(
          `INSERT INTO runners (id, key_id, account_id, name, origin, facts, connected_at, seen_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (key_id, name) DO UPDATE SET account_id = excluded.account_id, origin = excluded.origin,
             facts = excluded.facts, connected_at = excluded.connected_at, seen_at = excluded.seen_at,
             disconnected_at = NULL
           RETURNING *`,
          runner.id,
          keyId,
          accountId,
          name,
          origin,
          JSON.stringify(facts),
          connectedAt,
          seenAt,
        )
        .one(),
    )
  }

  listRunners(): StoredRunner[] {
    return this.#sql
      .exec<RunnerRow>('SELECT * FROM runners ORDER BY name, id')
      .toArray()
      .map(toRunner)
  }

  findRunner(id: string): StoredRunner | null {
    const [row] = this.#sql.exec<RunnerRow>('SELECT * FROM runners WHERE id = ?', id).toArray()
    return row ? toRunner(row) : null
  }

  changeRunner(
    id: string,
    change: Partial<Pick<StoredRunner, 'isDraining' | 'disconnectedAt' | 'seenAt' | 'assignedAt'>>,
  ): void {
    const runner = this.findRunner(id)
    if (!runner) return
    const { isDraining, disconnectedAt, seenAt, assignedAt } = { ...runner, ...change }
    this.#sql.exec(
      'UPDATE runners SET is_draining = ?, disconnected_at = ?, seen_at = ?, assigned_at = ? WHERE id = ?',
      Number(isDraining),
      disconnectedAt,
      seenAt,
      assignedAt,
      id,
    )
  }

  deleteRunner(id: string): void {
    this.#sql.exec('DELETE FROM runners WHERE id = ?', id)
  }

  /** Deletes runners of a key that have left and have no runs, except those that were seen last. */
  deleteLongestLeft(keyId: string, keptMax: number): void {
    this.#sql.exec(
      `DELETE FROM runners WHERE id IN (
         SELECT id FROM runners WHERE key_id = ? AND disconnected_at IS NOT NULL
         ORDER BY seen_at DESC LIMIT -1 OFFSET ?)
       AND id NOT IN (SELECT runner_id FROM runs WHERE state IN ${openStates} AND runner_id IS NOT NULL)`,
      keyId,
      keptMax,
    )
  }

  /** Notes where a program's session is. */
  saveSession(session: string, runnerId: string, now: number): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO program_sessions (session, runner_id, at) VALUES (?, ?, ?)',
      session,
      runnerId,
      now,
    )
  }

  findSessionRunner(session: string): string | null {
    const [row] = this.#sql
      .exec<{ id: string }>(
        'SELECT runner_id AS id FROM program_sessions WHERE session = ?',
        session,
      )
      .toArray()
    return row?.id ?? null
  }

  deleteSessions(sessions: readonly string[]): void {
    this.#sql.exec(
      'DELETE FROM program_sessions WHERE session IN (SELECT value FROM json_each(?))',
      JSON.stringify(sessions),
    )
  }

  // ------------------------------------------------------------ runs

  /** @throws TOO_LARGE when the texts of the run do not fit into one row */
  insertRun(run: NewRun, now: number): void {
    const { activation_id: id, attempt, agent_id: agentId, agent, program, builtin } = run
    const text = JSON.stringify(run)
    if (text.length > limits.storedRowBytesMax) {
      throw new AppError(
        'TOO_LARGE',
        `The run has ${text.length} characters, too many for a runner.`,
      )
    }
    const { runs_on, session_id } = run
    const needs = JSON.stringify({ program, builtin, runs_on, session_id })
    this.#sql.exec(
      `INSERT INTO runs (activation_id, attempt, agent_id, agent, needs, run, state, refused_by, stored, created_at, ends_at)
       VALUES (?, ?, ?, ?, ?, ?, 'waiting', '[]', 0, ?, ?)`,
      id,
      attempt,
      agentId,
      agent,
      needs,
      text,
      now,
      run.limits.ends_at,
    )
  }

  findRun({ activation_id: id, attempt }: RunKey): StoredRun | null {
    const [row] = this.#sql
      .exec<RunRow>(
        `SELECT ${runColumns} FROM runs WHERE activation_id = ? AND attempt = ?`,
        id,
        attempt,
      )
      .toArray()
    return row ? toRun(row) : null
  }

  /** Returns the whole run; null once it has ended. */
  readOrder({ activation_id: id, attempt }: RunKey): NewRun | null {
    const [row] = this.#sql
      .exec<{ run: string }>(
        `SELECT run FROM runs WHERE activation_id = ? AND attempt = ? AND state <> 'ended'`,
        id,
        attempt,
      )
      .toArray()
    return row ? JSON.parse(row.run) : null
  }

  /** Returns the runs that have not ended, the oldest first. */
  listOpenRuns(): StoredRun[] {
    return this.#sql
      .exec<RunRow>(
        `SELECT ${runColumns} FROM runs WHERE state IN ${openStates} ORDER BY created_at, activation_id, attempt`,
      )
      .toArray()
      .map(toRun)
  }

  countOpenRuns(): number {
    return this.#sql
      .exec<{ n: number }>(`SELECT count(*) AS n FROM runs WHERE state IN ${openStates}`)
      .one().n
  }

  /** Returns the attempts of an activation, ended ones too, the newest first. */
  listAttempts(activationId: string): StoredRun[] {
    return this.#sql
      .exec<RunRow>(
        `SELECT ${runColumns} FROM runs WHERE activation_id = ? ORDER BY attempt DESC`,
        activationId,
      )
      .toArray()
      .map(toRun)
  }

  changeRun(key: RunKey, change: RunChange): void {
    const run = this.findRun(key)
    if (!run || run.state === 'ended') return
    const next = { ...run, ...change }
    this.#sql.exec(
      `UPDATE runs SET state = ?, runner_id = ?, refused_by = ?, stored = ?, sent_at = ?, due_at = ?, reason = ?
       WHERE activation_id = ? AND attempt = ?`,
      next.state,
      next.runnerId,
      JSON.stringify(next.refusedBy),
      next.stored,
      next.sentAt,
      next.dueAt,
      next.reason,
      key.activation_id,
      key.attempt,
    )
  }

  /** Ends a run, and deletes its texts. */
  endRun({ activation_id: id, attempt }: RunKey): void {
    this.#sql.exec(
      `UPDATE runs SET state = 'ended', run = '', due_at = NULL WHERE activation_id = ? AND attempt = ?`,
      id,
      attempt,
    )
  }

  /**
   * Deletes ended runs whose deadline was before a time, and runners and sessions that were last seen before another
   * one.
   */
  deleteOld(runsBefore: number, runnersBefore: number): void {
    this.#sql.exec(`DELETE FROM runs WHERE state = 'ended' AND ends_at <= ?`, runsBefore)
    this.#sql.exec(
      'DELETE FROM runners WHERE disconnected_at IS NOT NULL AND seen_at < ?',
      runnersBefore,
    )
    this.#sql.exec('DELETE FROM program_sessions WHERE at < ?', runnersBefore)
  }

  /** Returns the earliest deadline of the ended runs; null without one. */
  readOldestEnd(): number | null {
    return this.#sql
      .exec<{ at: number | null }>(`SELECT min(ends_at) AS at FROM runs WHERE state = 'ended'`)
      .one().at
  }
}

/** An attempt of one activation. */
export type RunKey = Pick<NewRun, 'activation_id' | 'attempt'>

/** What a runner says of itself. */
type RunnerFacts = Pick<
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
type RunState = 'waiting' | 'assigned' | 'stopping' | 'lost' | 'ended'

/** An attempt, without the texts of its order. Times are milliseconds since the Unix epoch. */
export interface StoredRun {
  activationId: ActivationId
  attempt: number
  agentId: AccountId
  agent: string
  needs: Pick<NewRun, 'program' | 'builtin' | 'runs_on' | 'session_id'>
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

interface RunnerRow extends Record<string, SqlStorageValue> {
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

interface RunRow extends Record<string, SqlStorageValue> {
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
const runColumns = `activation_id, attempt, agent_id, agent, needs, state, runner_id, refused_by, stored,
  created_at, sent_at, ends_at, due_at, reason`

const runnerTables = [
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

const toRunner = (row: RunnerRow): StoredRunner => ({
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

const toRun = (row: RunRow): StoredRun => ({
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
