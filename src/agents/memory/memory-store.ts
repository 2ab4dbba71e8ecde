import { limits, memoryLimits } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import { type FactRow, selectFacts, selectTasks, type TaskRow, toFact, toTask } from './fact-rows'
import {
  activationTables,
  findMissingTableSchema,
  findUpgrade,
  isMissingColumn,
} from './memory-tables'
import {
  type MemoryQuery,
  noTurns,
  type PromptMemory,
  type Statistics,
  type StoredActivation,
  type TurnMemory,
  type TurnsRow,
} from './memory-types'
import { rankFacts } from './rank-facts'
import {
  insertTurn,
  listSchemas,
  listTables,
  selectTurns,
  upsertSession,
  upsertStatistics,
} from './turn-statements'

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
    if (!this.#listTables().has('turns')) this.#createTables(activationTables)
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

  /**
   * Runs a statement and returns its rows; none when its table doesn't exist yet. Upgrades tables of an
   * earlier version first.
   */
  query<Row extends Record<string, SqlStorageValue>>(
    sql: string,
    ...values: SqlStorageValue[]
  ): Row[] {
    try {
      return this.#sql.exec<Row>(sql, ...values).toArray()
    } catch (error) {
      if (findMissingTableSchema(error)) return []
      if (!isMissingColumn(error)) throw error
      this.#upgradeTables()
      return this.#sql.exec<Row>(sql, ...values).toArray()
    }
  }

  /** Runs a write. The first write creates its table, or upgrades one of an earlier version. */
  write<Row extends Record<string, SqlStorageValue>>(
    sql: string,
    ...values: SqlStorageValue[]
  ): Row[] {
    try {
      return this.#sql.exec<Row>(sql, ...values).toArray()
    } catch (error) {
      const schema = findMissingTableSchema(error)
      if (schema) this.#createTables(schema)
      else if (isMissingColumn(error)) this.#upgradeTables()
      else throw error
      return this.#sql.exec<Row>(sql, ...values).toArray()
    }
  }

  #createTables(tables: string): void {
    this.#sql.exec(tables)
    this.#tables = null
  }

  #upgradeTables(): void {
    const tables = this.#sql.exec<{ name: string; sql: string }>(listSchemas).toArray()
    for (const { name, sql } of tables) {
      const upgrade = findUpgrade(name, sql)
      if (upgrade) this.#sql.exec(upgrade)
    }
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
