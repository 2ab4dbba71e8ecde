import { limits, memoryLimits } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import type { AgentSessions, SessionMessage, TokenCounters, ToolCount } from '../contract/agents'
import { rankFacts } from '../memory/rank-facts'
import { activationTables, findMissingTableSchema } from './memory-tables'

export interface Fact {
  id: number
  text: string
  /** The source, as the agent stated it. */
  source: string
  createdAt: number
}

export interface OpenTask {
  id: number
  text: string
  createdAt: number
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
  tools: ToolCount[]
  /** Summary of all messages before `messages`; null when nothing was compacted. */
  summary: string | null
}

/** Counts of an agent's activations, tokens and tool calls. */
export type Statistics = Pick<AgentSessions, 'totals' | 'tools'>

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

/** The part of an agent's memory that goes into a prompt. */
export interface PromptMemory {
  /** Summary of the session's compacted activations; empty when there are none. */
  summary: string
  /** Messages of the session's newest activations, oldest first. */
  history: SessionMessage[][]
  facts: Fact[]
  tasks: OpenTask[]
  /** Recent activations of other sessions, oldest first. */
  recentElsewhere: { at: number; gist: string }[]
}

export interface MemoryQuery {
  sessionId: string
  /** Text of the task, for `keyword`. */
  words: string
  factsMax: number
  retrieval: 'recent' | 'keyword'
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

  readForPrompt({ sessionId, words, factsMax, retrieval }: MemoryQuery): PromptMemory {
    const isRanked = retrieval === 'keyword'
    const tables = this.#listTables()
    const facts = tables.has('facts')
      ? this.query<Row<Fact>>(selectFacts, isRanked ? memoryLimits.factsMax : factsMax)
      : []
    const shown = isRanked ? rankFacts(facts, words, factsMax) : facts.reverse()
    this.#shownFacts = shown.map(({ id }) => id)
    return {
      ...(tables.has('turns')
        ? this.#readTurns(sessionId)
        : { summary: '', history: [], recentElsewhere: [] }),
      facts: shown,
      tasks: tables.has('tasks') ? this.query<Row<OpenTask>>(selectTasks) : [],
    }
  }

  #readTurns(sessionId: string): Pick<PromptMemory, 'summary' | 'history' | 'recentElsewhere'> {
    const [row] = this.query<Record<'summary' | 'history' | 'recentElsewhere', string>>(
      selectTurns,
      sessionId,
    )
    if (!row) return { summary: '', history: [], recentElsewhere: [] }
    return {
      summary: row.summary,
      history: (JSON.parse(row.history) as string[]).reverse().map((text) => JSON.parse(text)),
      recentElsewhere: (
        JSON.parse(row.recentElsewhere) as PromptMemory['recentElsewhere']
      ).reverse(),
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
    if (!this.#listTables().has('turns')) this.#createTables(activationTables)
    const messages = JSON.stringify(activation.messages)
    this.write(
      insertTurn,
      activation.activationId,
      activation.sessionId,
      activation.at,
      activation.gist,
      messages.length > limits.storedRowBytesMax ? '[]' : messages,
    )
    this.#count(statistics, activation)
    if (activation.summary !== null) this.#replaceHistory(activation.sessionId, activation.summary)
    this.#recordFactUse(activation.at)
    if (statistics.totals.activations % memoryLimits.sessionsPrunedEvery === 0) this.#prune()
  }

  /** Updates the statistics, in one transaction with the activation's row. */
  #count(
    statistics: StoredStatistics,
    { activationId, sessionId, at, usage, tools }: StoredActivation,
  ): void {
    const { inputTokens, cachedTokens, outputTokens, costMicrousd } = usage
    this.write(upsertSession, sessionId, inputTokens, cachedTokens, outputTokens, costMicrousd, at)
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

  /** Replaces all messages of a session before its newest activation by the summary. */
  #replaceHistory(sessionId: string, summary: string): void {
    this.write(
      'DELETE FROM turns WHERE session_id = ?1 AND seq < (SELECT max(seq) FROM turns WHERE session_id = ?1)',
      sessionId,
    )
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

/** The row type of an interface, as SQLite returns it. */
type Row<Shape> = { [Field in keyof Shape]: Shape[Field] & SqlStorageValue }

const insertTurn =
  'INSERT INTO turns (activation_id, session_id, at, gist, messages) VALUES (?, ?, ?, ?, ?)'

const upsertStatistics = "INSERT OR REPLACE INTO kept (key, value) VALUES ('statistics', ?)"

const upsertSession = `INSERT INTO sessions
    (id, activations, input_tokens, cached_tokens, output_tokens, cost_microusd, created_at, updated_at)
  VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (id) DO UPDATE SET
    activations = activations + 1, input_tokens = input_tokens + ?2, cached_tokens = cached_tokens + ?3,
    output_tokens = output_tokens + ?4, cost_microusd = cost_microusd + ?5, updated_at = ?6`

const listTables = "SELECT name FROM sqlite_master WHERE name IN ('turns', 'facts', 'tasks')"

const selectTurns = `SELECT
  coalesce((SELECT summary FROM sessions WHERE id = ?1), '') AS summary,
  (SELECT json_group_array(messages) FROM
    (SELECT messages FROM turns WHERE session_id = ?1 ORDER BY seq DESC LIMIT ${memoryLimits.historyTurnsMax})) AS history,
  (SELECT json_group_array(json_object('at', at, 'gist', gist)) FROM
    (SELECT at, gist FROM turns WHERE session_id <> ?1 AND gist <> '' ORDER BY seq DESC LIMIT ${memoryLimits.latelyMax})) AS recentElsewhere`

const selectFacts =
  'SELECT id, text, source, created_at AS createdAt FROM facts ORDER BY id DESC LIMIT ?'

const selectTasks = `SELECT id, text, created_at AS createdAt FROM tasks WHERE done_at IS NULL
  ORDER BY id LIMIT ${memoryLimits.openTasksMax}`
