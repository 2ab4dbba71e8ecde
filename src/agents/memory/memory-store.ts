import type { DataOwner } from '../../hub/contract/hub'
import type { OpenTask, RememberedFact } from '../../mcp-servers/contract/tools'
import { limits, memoryLimits } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import type {
  AgentSessions,
  LastCall,
  SessionMessage,
  TokenCounters,
  ToolCount,
} from '../contract/agents'
import { extractTerms, toStems } from '../text/words'

/** The statistics, and the activation that was counted last. */
interface StoredStatistics extends Statistics {
  last: ActivationId | null
}

const counted = ['inputTokens', 'cachedTokens', 'outputTokens', 'costMicrousd'] as const
const noTotals = {
  activations: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  costMicrousd: 0,
}

/**
 * The memory of one agent between activations. All methods are synchronous, so they are part of the
 * transaction around them.
 */
export class MemoryStore {
  readonly #sql: SqlStorage
  /** Facts in the prompt of the running activation. A crash loses them, which only skips `used_at`. */
  #shownFacts: number[] = []
  /** Cached statistics as stored; null until they are read. */
  #statistics: StoredStatistics | null = null
  /** Names of existing tables; null until they are read. */
  #tables: Set<string> | null = null

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** Size of everything that the agent's object stores, in bytes. */
  get storageBytes(): number {
    return this.#sql.databaseSize
  }

  readForPrompt(query: MemoryQuery): PromptMemory {
    const { sessionId, words, factsMax, retrieval } = query
    const reader = query.reader ?? ''
    const isRanked = retrieval === 'keyword'
    const tables = this.#listTables()
    const facts = tables.has('facts')
      ? this.query<FactRow>(selectFacts, reader, isRanked ? memoryLimits.factsMax : factsMax).map(
          toFact,
        )
      : []
    const tasks = tables.has('tasks')
      ? this.query<TaskRow>(selectTasks, reader, memoryLimits.openTasksMax).map(toTask)
      : []
    const shown = isRanked ? rankFacts(facts, words, factsMax) : facts.reverse()
    this.#shownFacts = shown.map(({ id }) => id)
    const turns = tables.has('turns') ? this.#readTurns(sessionId, reader) : noTurns
    const hasPrivate = turns.hasPrivate || [...shown, ...tasks].some((each) => each.isPrivate)
    const hasUntrusted = turns.hasUntrusted || [...shown, ...tasks].some((each) => each.isUntrusted)
    return { ...turns, facts: shown, tasks, hasPrivate, hasUntrusted }
  }

  #readTurns(sessionId: string, reader: string): TurnMemory {
    const [row] = this.query<TurnsRow>(selectTurns, sessionId, reader)
    if (!row) return noTurns
    const recent = JSON.parse(row.recentElsewhere) as (TurnMemory['recentElsewhere'][number] & {
      owner: string
    })[]
    return {
      summary: [row.summary, row.ownSummary].filter((each) => each !== '').join('\n\n'),
      history: (JSON.parse(row.history) as string[]).reverse().map((text) => JSON.parse(text)),
      turns: (JSON.parse(row.ids) as ActivationId[]).reverse(),
      recentElsewhere: recent.map(({ at, gist }) => ({ at, gist })).reverse(),
      hasPrivate: row.hasPrivate === 1 || recent.some(({ owner }) => owner !== ''),
      hasUntrusted: row.hasUntrusted === 1,
    }
  }

  /** Returns the existing tables. Querying a missing table throws, which is expensive. */
  #listTables(): Set<string> {
    this.#tables ??= new Set(this.query<{ name: string }>(listTables).map(({ name }) => name))
    return this.#tables
  }

  /** Saves a finished activation. Does nothing when that activation was saved last. */
  saveActivation(activation: StoredActivation): void {
    const statistics = this.#loadStatistics()
    if (statistics.last === activation.activationId) return
    // If a write below fails, read the stored statistics again.
    this.#statistics = null
    if (!this.#listTables().has('turns')) this.#createTables(turnTables)
    const messages = JSON.stringify(activation.messages)
    this.write(
      insertTurn,
      activation.activationId,
      activation.sessionId,
      activation.at,
      activation.gist,
      messages.length > limits.storedRowBytesMax ? '[]' : messages,
      activation.privateTo ?? '',
      activation.privateTo === null ? '' : (activation.summary ?? ''),
      Number(activation.isUntrusted),
    )
    this.#count(statistics, activation)
    if (activation.summary !== null) this.#replaceHistory(activation, activation.summary)
    this.#recordFactUse(activation.at)
    if (statistics.totals.activations % memoryLimits.sessionsPrunedEvery === 0) this.#prune()
  }

  /** Updates the statistics, in one transaction with the activation's row. */
  #count(
    statistics: StoredStatistics,
    { activationId, sessionId, at, usage, lastCall, tools }: StoredActivation,
  ): void {
    const { inputTokens, cachedTokens, outputTokens, costMicrousd } = usage
    const call = lastCall && JSON.stringify(lastCall)
    const counters = [inputTokens, cachedTokens, outputTokens, costMicrousd]
    this.write(upsertSession, sessionId, ...counters, at, call)
    statistics.last = activationId
    statistics.totals.activations++
    for (const field of counted) statistics.totals[field] += usage[field]
    for (const tool of tools) {
      const existing = statistics.tools.find(({ name }) => name === tool.name)
      if (!existing) {
        statistics.tools.push({ ...tool })
        continue
      }
      existing.calls += tool.calls
      existing.errors += tool.errors
      existing.totalMs += tool.totalMs
    }
    this.write(upsertStatistics, JSON.stringify(statistics))
    this.#statistics = statistics
  }

  /** Returns the statistics of all activations, including those of deleted sessions. */
  readStatistics(): Statistics {
    const { totals, tools } = structuredClone(this.#loadStatistics())
    return { totals, tools }
  }

  #loadStatistics(): StoredStatistics {
    if (this.#statistics) return this.#statistics
    const [row] = this.query<{ value: string }>("SELECT value FROM kept WHERE key = 'statistics'")
    this.#statistics = row
      ? (JSON.parse(row.value) as StoredStatistics)
      : { last: null, totals: { ...noTotals }, tools: [] }
    return this.#statistics
  }

  /**
   * Replaces the messages of a session before its newest activation by the summary. A private turn holds
   * its own summary, and leaves the turns that others see.
   */
  #replaceHistory({ sessionId, privateTo }: StoredActivation, summary: string): void {
    this.write(
      `DELETE FROM turns WHERE session_id = ?1 AND private_to = ?2
         AND seq < (SELECT max(seq) FROM turns WHERE session_id = ?1)`,
      sessionId,
      privateTo ?? '',
    )
    if (privateTo !== null) return
    this.write('UPDATE sessions SET summary = ? WHERE id = ?', summary, sessionId)
  }

  /** Runs a statement and returns its rows; none when its table doesn't exist yet. */
  query<Row extends Record<string, SqlStorageValue>>(
    sql: string,
    ...values: SqlStorageValue[]
  ): Row[] {
    try {
      return this.#sql.exec<Row>(sql, ...values).toArray()
    } catch (error) {
      if (findMissingTableSchema(error)) return []
      throw error
    }
  }

  /** Runs a write. The first write creates its table. */
  write<Row extends Record<string, SqlStorageValue>>(
    sql: string,
    ...values: SqlStorageValue[]
  ): Row[] {
    try {
      return this.#sql.exec<Row>(sql, ...values).toArray()
    } catch (error) {
      const schema = findMissingTableSchema(error)
      if (!schema) throw error
      this.#createTables(schema)
      return this.#sql.exec<Row>(sql, ...values).toArray()
    }
  }

  #createTables(tables: string): void {
    this.#sql.exec(tables)
    this.#tables = null
  }

  #recordFactUse(at: number): void {
    if (this.#shownFacts.length === 0) return
    this.write(
      'UPDATE facts SET used_at = ? WHERE id IN (SELECT value FROM json_each(?))',
      at,
      JSON.stringify(this.#shownFacts),
    )
    this.#shownFacts = []
  }

  /** Deletes the least recently used sessions beyond the limit. */
  #prune(): void {
    this.write(
      'DELETE FROM sessions WHERE id IN (SELECT id FROM sessions ORDER BY updated_at DESC LIMIT -1 OFFSET ?)',
      memoryLimits.sessionsMax,
    )
    this.write('DELETE FROM turns WHERE session_id NOT IN (SELECT id FROM sessions)')
  }
}

const insertTurn =
  'INSERT INTO turns (activation_id, session_id, at, gist, messages, private_to, own_summary, is_untrusted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)'

const upsertStatistics = "INSERT OR REPLACE INTO kept (key, value) VALUES ('statistics', ?)"

const upsertSession = `INSERT INTO sessions
    (id, activations, input_tokens, cached_tokens, output_tokens, cost_microusd, created_at, updated_at, last_call)
  VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?6, ?7) ON CONFLICT (id) DO UPDATE SET
    activations = activations + 1, input_tokens = input_tokens + ?2, cached_tokens = cached_tokens + ?3,
    output_tokens = output_tokens + ?4, cost_microusd = cost_microusd + ?5, updated_at = ?6,
    last_call = coalesce(?7, last_call)`

const listTables = "SELECT name FROM sqlite_master WHERE name IN ('turns', 'facts', 'tasks')"

// A gist of a run that had read untrusted text is left out: in other sessions it would pass as the agent's own.
// Every read takes what is private to nobody and what is private to the reader, who is '' for nobody.
const selectTurns = `WITH seen AS MATERIALIZED (
    SELECT seq, activation_id, messages, is_untrusted FROM turns
    WHERE session_id = ?1 AND private_to IN ('', ?2)
      AND seq >= coalesce((SELECT max(seq) FROM turns
        WHERE session_id = ?1 AND private_to = ?2 AND own_summary <> ''), 0)
    ORDER BY seq DESC LIMIT ${memoryLimits.historyTurnsMax})
  SELECT
    coalesce((SELECT summary FROM sessions WHERE id = ?1), '') AS summary,
    coalesce((SELECT own_summary FROM turns WHERE session_id = ?1 AND private_to = ?2
      AND own_summary <> '' ORDER BY seq DESC LIMIT 1), '') AS ownSummary,
    (SELECT json_group_array(messages) FROM (SELECT messages FROM seen ORDER BY seq DESC)) AS history,
    (SELECT json_group_array(activation_id) FROM (SELECT activation_id FROM seen ORDER BY seq DESC)) AS ids,
    EXISTS (SELECT 1 FROM turns WHERE session_id = ?1 AND private_to <> '' AND private_to = ?2) AS hasPrivate,
    EXISTS (SELECT 1 FROM seen WHERE is_untrusted = 1) AS hasUntrusted,
    (SELECT json_group_array(json_object('at', at, 'gist', gist, 'owner', private_to)) FROM
      (SELECT at, gist, private_to FROM turns
      WHERE session_id <> ?1 AND gist <> '' AND private_to IN ('', ?2) AND is_untrusted = 0
      ORDER BY seq DESC LIMIT ${memoryLimits.latelyMax})) AS recentElsewhere`

/** An open task as SQLite returns it. */
export type TaskRow = {
  id: number
  text: string
  createdAt: number
  owner: string
  isUntrusted: number
}
/** A fact as SQLite returns it. */
export type FactRow = TaskRow & { source: string }

export const toTask = ({ owner, isUntrusted, ...task }: TaskRow): OpenTask => ({
  ...task,
  ...(owner !== '' && { isPrivate: true }),
  ...(isUntrusted === 1 && { isUntrusted: true }),
})

export const toFact = ({ owner, isUntrusted, ...fact }: FactRow): RememberedFact => ({
  ...fact,
  ...(owner !== '' && { isPrivate: true }),
  ...(isUntrusted === 1 && { isUntrusted: true }),
})

/** Columns of a fact that is returned. */
export const factColumns = `id, text, source, created_at AS createdAt, private_to AS owner,
  is_untrusted AS isUntrusted`

/** Columns of a task that is returned. */
export const taskColumns =
  'id, text, created_at AS createdAt, private_to AS owner, is_untrusted AS isUntrusted'

/** The newest facts that a reader sees, who is '' for nobody; parameters: reader, limit. */
export const selectFacts = `SELECT ${factColumns} FROM facts WHERE private_to IN ('', ?)
  ORDER BY id DESC LIMIT ?`

/** The oldest open tasks that a reader sees; parameters: reader, limit. */
export const selectTasks = `SELECT ${taskColumns} FROM tasks
  WHERE done_at IS NULL AND private_to IN ('', ?) ORDER BY id LIMIT ?`

/**
 * Returns the facts that share search terms with the task, the best last and so nearest to the task in
 * the prompt. A term that many facts contain has a low weight. Facts without a shared term are
 * omitted.
 */
export function rankFacts<Fact extends { text: string }>(
  facts: Fact[],
  words: string,
  factsMax: number,
): Fact[] {
  const terms = new Map(extractTerms(words).map(({ stem, weight }) => [stem, weight]))
  const shared = facts.map(({ text }) => [...toStems(text)].filter((stem) => terms.has(stem)))
  const holders = new Map<string, number>()
  for (const stem of shared.flat()) holders.set(stem, (holders.get(stem) ?? 0) + 1)
  const weigh = (stem: string) =>
    (terms.get(stem) ?? 0) * Math.log(1 + facts.length / (holders.get(stem) ?? 1))
  return facts
    .map((fact, index) => ({
      fact,
      score: (shared[index] ?? []).reduce((sum, stem) => sum + weigh(stem), 0),
    }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, factsMax)
    .map(({ fact }) => fact)
    .reverse()
}

/** One finished activation, as its session stores it. */
export interface StoredActivation {
  activationId: ActivationId
  sessionId: string
  at: number
  /** One line of task and answer, for the agent's other sessions; empty hides it from them. */
  gist: string
  /** From the task to the answer; every call has its result. */
  messages: SessionMessage[]
  usage: TokenCounters
  /** Its last model call, and what the context window of that model holds; null: none was answered. */
  lastCall: LastCall | null
  tools: ToolCount[]
  /** Summary of all messages before `messages`; null when nothing was compacted. */
  summary: string | null
  /** The account whose runs alone see the turn; null: all runs do. */
  privateTo: DataOwner | null
  /** Its run had read text by a guest or from outside. */
  isUntrusted: boolean
}

/** Counts of an agent's activations, tokens and tool calls. */
type Statistics = Pick<AgentSessions, 'totals' | 'tools'>

/** The part of an agent's memory that goes into a prompt. */
export interface PromptMemory {
  /** Summary of the session's compacted activations; empty when there are none. */
  summary: string
  /** Messages of the session's newest activations, oldest first. */
  history: SessionMessage[][]
  /** Their ids, in the same order. */
  turns: ActivationId[]
  facts: RememberedFact[]
  tasks: OpenTask[]
  /** Recent activations of other sessions, oldest first. */
  recentElsewhere: { at: number; gist: string }[]
  /** Whether a part of it is private to the reader. */
  hasPrivate: boolean
  /** Whether a turn of the session, a fact or an open task is of a run that had read untrusted text. */
  hasUntrusted: boolean
}

export interface MemoryQuery {
  sessionId: string
  /** The account whose private memory is included; null: nobody's. */
  reader: DataOwner | null
  /** Text of the task, for `keyword`. */
  words: string
  factsMax: number
  retrieval: 'recent' | 'keyword'
}

/** What the turns of an agent contribute to a prompt. */
type TurnMemory = Omit<PromptMemory, 'facts' | 'tasks'>

const noTurns: TurnMemory = {
  summary: '',
  history: [],
  turns: [],
  recentElsewhere: [],
  hasPrivate: false,
  hasUntrusted: false,
}

type TurnsRow = Record<'summary' | 'ownSummary' | 'history' | 'ids' | 'recentElsewhere', string> & {
  hasPrivate: number
  hasUntrusted: number
}

/**
 * Tables of an agent's memory between activations, in its own SQLite. Every table and index is a page
 * that is held in memory and written, for each of many agents. So there are few, and each is created
 * when it is first needed. A row of `turns` is one finished activation.
 */
const turnTables = `
  CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    -- stands for the turns that were compacted away
    summary TEXT NOT NULL DEFAULT '',
    activations INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cost_microusd INTEGER NOT NULL DEFAULT 0,
    -- JSON of the last model call
    last_call TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS turns (
    seq INTEGER PRIMARY KEY,
    activation_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- what was asked and answered, in one line; empty when it is nobody else's business
    gist TEXT NOT NULL,
    -- JSON list of messages
    messages TEXT NOT NULL,
    -- the account whose runs alone see it; empty: all
    private_to TEXT NOT NULL DEFAULT '',
    -- of a private turn: stands for all turns before it that its runs see
    own_summary TEXT NOT NULL DEFAULT '',
    -- its run had read text by a guest or from outside; what is not known to be free of it counts as such
    is_untrusted INTEGER NOT NULL DEFAULT 1);
  CREATE INDEX IF NOT EXISTS turns_of ON turns (session_id, seq);`

const factTable = `
  CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    -- the account whose runs alone see it; empty: all
    private_to TEXT NOT NULL DEFAULT '',
    -- noted by a run that had read text by a guest or from outside
    is_untrusted INTEGER NOT NULL DEFAULT 0,
    -- when it became what it is; 0: when it was noted
    changed_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (text, private_to));`

/** What facts were before the agent changed or deleted them, in the order of that. */
const pastFactTable = `
  CREATE TABLE IF NOT EXISTS past_facts (
    seq INTEGER PRIMARY KEY,
    fact_id INTEGER NOT NULL,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    private_to TEXT NOT NULL,
    is_untrusted INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL);`

const taskTable = `
  CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL,
    -- activation and call that added it: the same call adds it once
    added_by TEXT UNIQUE,
    created_at INTEGER NOT NULL,
    done_at INTEGER,
    note TEXT NOT NULL DEFAULT '',
    -- the account whose runs alone see it; empty: all
    private_to TEXT NOT NULL DEFAULT '',
    -- added by a run that had read text by a guest or from outside
    is_untrusted INTEGER NOT NULL DEFAULT 1);`

/** Values by key: an agent's statistics. */
const keptTable =
  'CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;'

/** Facts that an account shared, which were private to it. */
const shareTable = `
  CREATE TABLE IF NOT EXISTS shares (
    fact_id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    shared_at INTEGER NOT NULL);`

/** Sessions of programs on runners, for the next run of a thread that has the same readers. */
const programSessionTable = `
  CREATE TABLE IF NOT EXISTS program_sessions (
    thread TEXT NOT NULL,
    -- the program, and who may read what it has read
    audience TEXT NOT NULL,
    session TEXT NOT NULL,
    -- it has read data that is private to the reader
    is_private INTEGER NOT NULL,
    -- JSON list of the runs that have used it
    runs TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (thread, audience)) WITHOUT ROWID;`

/** SQL that creates each table; that of two can be the same. */
export const memoryTables: Readonly<Record<string, string>> = {
  program_sessions: programSessionTable,
  sessions: turnTables,
  turns: turnTables,
  kept: keptTable,
  facts: factTable,
  past_facts: pastFactTable,
  shares: shareTable,
  tasks: taskTable,
}

// SQLite creates its table for tables with AUTOINCREMENT.
const schemas: Record<string, string> = { ...memoryTables, sqlite_sequence: factTable }

/** Returns the SQL that creates the table that an error reports as missing; null for other errors. */
function findMissingTableSchema(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const name = /no such table: (\w+)/.exec(error.message)?.[1]
  return (name && schemas[name]) || null
}
