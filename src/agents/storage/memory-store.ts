import { limits, memoryLimits } from '../../config'
import type { ActivationId } from '../../ids'
import type { AgentSessions, SessionMessage, TokenCounters, ToolCount } from '../contract'
import { rankFacts } from '../memory/rank-facts'
import { findMaker, makeTurns } from './memory-tables'

export interface Fact {
  id: number
  text: string
  /** Where it comes from, as the agent told it. */
  source: string
  createdAt: number
}

export interface OpenTask {
  id: number
  text: string
  createdAt: number
}

/** One finished activation, as its session keeps it. */
export interface Turn {
  activationId: ActivationId
  sessionId: string
  at: number
  /** What was asked and answered, in one line, for the agent's other sessions; empty keeps it out. */
  gist: string
  /** From the task's words to the answer; no call without its result. */
  messages: SessionMessage[]
  usage: TokenCounters
  tools: ToolCount[]
  /** Stands for everything the session held before `messages`; null when nothing was compacted. */
  summary: string | null
}

/** What an agent did in numbers. */
export type Statistics = Pick<AgentSessions, 'totals' | 'tools'>

/** The statistics, and the activation that was counted last. */
interface Books extends Statistics {
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

/** What an agent is reminded of before it starts. */
export interface Memories {
  /** Of the session's compacted turns; empty when there are none. */
  summary: string
  /** The session's newest turns, oldest first. */
  turns: SessionMessage[][]
  facts: Fact[]
  tasks: OpenTask[]
  /** What it did lately in other sessions, oldest first. */
  lately: { at: number; gist: string }[]
}

export interface MemoryQuestion {
  sessionId: string
  /** The task's words, for `keyword`. */
  words: string
  factsMax: number
  retrieval: 'recent' | 'keyword'
}

/**
 * The memory of one agent between activations (L39). Nothing here waits, so reading and saving are
 * part of the transaction around them.
 */
export class MemoryStore {
  readonly #sql: SqlStorage
  /** Facts that the activation under way was shown; lost in a crash, which does no harm. */
  #shownFacts: number[] = []
  /** As they are stored, once they were read: nobody else writes them. */
  #books: Books | null = null
  /** Tables that are there, once it was looked up. */
  #tables: Set<string> | null = null

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** Of everything the agent's object stores. */
  get storageBytes(): number {
    return this.#sql.databaseSize
  }

  readForPrompt({ sessionId, words, factsMax, retrieval }: MemoryQuestion): Memories {
    const isRanked = retrieval === 'keyword'
    const kept = this.#listTables()
    const facts = kept.has('facts')
      ? this.query<Row<Fact>>(readFacts, isRanked ? memoryLimits.factsMax : factsMax)
      : []
    const shown = isRanked ? rankFacts(facts, words, factsMax) : facts.reverse()
    this.#shownFacts = shown.map(({ id }) => id)
    return {
      ...(kept.has('turns') ? this.#readTurns(sessionId) : { summary: '', turns: [], lately: [] }),
      facts: shown,
      tasks: kept.has('tasks') ? this.query<Row<OpenTask>>(readTasks) : [],
    }
  }

  #readTurns(sessionId: string): Pick<Memories, 'summary' | 'turns' | 'lately'> {
    const [row] = this.query<Record<'summary' | 'turns' | 'lately', string>>(readTurns, sessionId)
    if (!row) return { summary: '', turns: [], lately: [] }
    return {
      summary: row.summary,
      turns: (JSON.parse(row.turns) as string[]).reverse().map((text) => JSON.parse(text)),
      lately: (JSON.parse(row.lately) as Memories['lately']).reverse(),
    }
  }

  /** To ask a table that is not there would be an error, which is dear. */
  #listTables(): Set<string> {
    this.#tables ??= new Set(this.query<{ name: string }>(listTables).map(({ name }) => name))
    return this.#tables
  }

  /** Does nothing when it was this activation that was saved last. */
  saveTurn(turn: Turn): void {
    const books = this.#readBooks()
    if (books.last === turn.activationId) return
    // should a write below fail, what is stored counts
    this.#books = null
    if (!this.#listTables().has('turns')) this.#make(makeTurns)
    const messages = JSON.stringify(turn.messages)
    this.write(
      insertTurn,
      turn.activationId,
      turn.sessionId,
      turn.at,
      turn.gist,
      messages.length > limits.storedRowBytesMax ? '[]' : messages,
    )
    this.#count(books, turn)
    if (turn.summary !== null) this.#replaceHistory(turn.sessionId, turn.summary)
    this.#noteUse(turn.at)
    if (books.totals.activations % memoryLimits.sessionsPrunedEvery === 0) this.#prune()
  }

  /** Nothing waits in between, so it is one transaction with the turn. */
  #count(books: Books, { activationId, sessionId, at, usage, tools }: Turn): void {
    const { inputTokens, cachedTokens, outputTokens, costMicrousd } = usage
    this.write(countSession, sessionId, inputTokens, cachedTokens, outputTokens, costMicrousd, at)
    books.last = activationId
    books.totals.activations++
    for (const field of counted) books.totals[field] += usage[field]
    for (const tool of tools) {
      const known = books.tools.find(({ name }) => name === tool.name)
      if (!known) {
        books.tools.push({ ...tool })
        continue
      }
      known.calls += tool.calls
      known.errors += tool.errors
      known.totalMs += tool.totalMs
    }
    this.write(keepBooks, JSON.stringify(books))
    this.#books = books
  }

  /** Of all activations, also of those whose session is forgotten. */
  readStatistics(): Statistics {
    const { totals, tools } = structuredClone(this.#readBooks())
    return { totals, tools }
  }

  #readBooks(): Books {
    if (this.#books) return this.#books
    const [row] = this.query<{ value: string }>("SELECT value FROM kept WHERE key = 'statistics'")
    this.#books = row
      ? (JSON.parse(row.value) as Books)
      : { last: null, totals: { ...noTotals }, tools: [] }
    return this.#books
  }

  /** Everything of a session before its newest turn gives way to the summary. */
  #replaceHistory(sessionId: string, summary: string): void {
    this.write(
      'DELETE FROM turns WHERE session_id = ?1 AND seq < (SELECT max(seq) FROM turns WHERE session_id = ?1)',
      sessionId,
    )
    this.write('UPDATE sessions SET summary = ? WHERE id = ?', summary, sessionId)
  }

  /** A read; what was never written is empty. */
  query<Row extends Record<string, SqlStorageValue>>(
    sql: string,
    ...values: SqlStorageValue[]
  ): Row[] {
    try {
      return this.#sql.exec<Row>(sql, ...values).toArray()
    } catch (error) {
      if (findMaker(error)) return []
      throw error
    }
  }

  /** A write; the first one makes its table. */
  write<Row extends Record<string, SqlStorageValue>>(
    sql: string,
    ...values: SqlStorageValue[]
  ): Row[] {
    try {
      return this.#sql.exec<Row>(sql, ...values).toArray()
    } catch (error) {
      const maker = findMaker(error)
      if (!maker) throw error
      this.#make(maker)
      return this.#sql.exec<Row>(sql, ...values).toArray()
    }
  }

  #make(tables: string): void {
    this.#sql.exec(tables)
    this.#tables = null
  }

  #noteUse(at: number): void {
    if (this.#shownFacts.length === 0) return
    this.write(
      'UPDATE facts SET used_at = ? WHERE id IN (SELECT value FROM json_each(?))',
      at,
      JSON.stringify(this.#shownFacts),
    )
    this.#shownFacts = []
  }

  /** The sessions that nobody came back to longest are forgotten. */
  #prune(): void {
    this.write(
      'DELETE FROM sessions WHERE id IN (SELECT id FROM sessions ORDER BY updated_at DESC LIMIT -1 OFFSET ?)',
      memoryLimits.sessionsMax,
    )
    this.write('DELETE FROM turns WHERE session_id NOT IN (SELECT id FROM sessions)')
  }
}

/** An interface as a row that the database gives. */
type Row<Shape> = { [Field in keyof Shape]: Shape[Field] & SqlStorageValue }

const insertTurn =
  'INSERT INTO turns (activation_id, session_id, at, gist, messages) VALUES (?, ?, ?, ?, ?)'

const keepBooks = "INSERT OR REPLACE INTO kept (key, value) VALUES ('statistics', ?)"

const countSession = `INSERT INTO sessions
    (id, activations, input_tokens, cached_tokens, output_tokens, cost_microusd, created_at, updated_at)
  VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (id) DO UPDATE SET
    activations = activations + 1, input_tokens = input_tokens + ?2, cached_tokens = cached_tokens + ?3,
    output_tokens = output_tokens + ?4, cost_microusd = cost_microusd + ?5, updated_at = ?6`

const listTables = "SELECT name FROM sqlite_master WHERE name IN ('turns', 'facts', 'tasks')"

const readTurns = `SELECT
  coalesce((SELECT summary FROM sessions WHERE id = ?1), '') AS summary,
  (SELECT json_group_array(messages) FROM
    (SELECT messages FROM turns WHERE session_id = ?1 ORDER BY seq DESC LIMIT ${memoryLimits.historyTurnsMax})) AS turns,
  (SELECT json_group_array(json_object('at', at, 'gist', gist)) FROM
    (SELECT at, gist FROM turns WHERE session_id <> ?1 AND gist <> '' ORDER BY seq DESC LIMIT ${memoryLimits.latelyMax})) AS lately`

const readFacts =
  'SELECT id, text, source, created_at AS createdAt FROM facts ORDER BY id DESC LIMIT ?'

const readTasks = `SELECT id, text, created_at AS createdAt FROM tasks WHERE done_at IS NULL
  ORDER BY id LIMIT ${memoryLimits.openTasksMax}`
