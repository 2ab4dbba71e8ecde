import { limits, memoryLimits } from '../../config'
import type { ActivationId } from '../../ids'
import type { SessionMessage, TokenCounters, ToolCount } from '../contract'
import { rankFacts } from '../memory/rank-facts'
import { memoryTables } from './memory-tables'

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

const nothing: Memories = { summary: '', turns: [], facts: [], tasks: [], lately: [] }

/**
 * The memory of one agent between activations (L39). Nothing here waits, so reading and saving are
 * part of the transaction around them. Reading is one statement, saving one more.
 */
export class MemoryStore {
  readonly #sql: SqlStorage
  /** Facts that the activation under way was shown; lost in a crash, which does no harm. */
  #shownFacts: number[] = []

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** Of everything the agent's object stores. */
  get storageBytes(): number {
    return this.#sql.databaseSize
  }

  readForPrompt({ sessionId, words, factsMax, retrieval }: MemoryQuestion): Memories {
    const isRanked = retrieval === 'keyword'
    const [row] = this.query<Record<'summary' | 'turns' | 'facts' | 'tasks' | 'lately', string>>(
      readMemories,
      sessionId,
      isRanked ? memoryLimits.factsMax : factsMax,
    )
    if (!row) return nothing
    const facts = JSON.parse(row.facts) as Fact[]
    const shown = isRanked ? rankFacts(facts, words, factsMax) : facts.reverse()
    this.#shownFacts = shown.map(({ id }) => id)
    return {
      summary: row.summary,
      turns: (JSON.parse(row.turns) as string[]).reverse().map((text) => JSON.parse(text)),
      facts: shown,
      tasks: JSON.parse(row.tasks),
      lately: (JSON.parse(row.lately) as Memories['lately']).reverse(),
    }
  }

  /** Does nothing when this activation was saved before. */
  saveTurn(turn: Turn): void {
    const messages = JSON.stringify(turn.messages)
    const [saved] = this.write<{ seq: number }>(
      insertTurn,
      turn.activationId,
      turn.sessionId,
      turn.at,
      turn.gist,
      messages.length > limits.storedRowBytesMax ? '[]' : messages,
      JSON.stringify(turn.usage),
      JSON.stringify(turn.tools),
    )
    if (!saved) return
    if (turn.summary !== null) this.replaceHistory(turn.sessionId, turn.summary, saved.seq)
    this.#noteUse(turn.at)
    if (saved.seq % memoryLimits.sessionsPrunedEvery === 0) this.#prune()
  }

  /** Everything of a session before `seq` gives way to the summary. */
  replaceHistory(sessionId: string, summary: string, seq: number): void {
    this.write('DELETE FROM turns WHERE session_id = ? AND seq < ?', sessionId, seq)
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
      if (isWithoutTables(error)) return []
      throw error
    }
  }

  /** A write; the first one makes the tables. */
  write<Row extends Record<string, SqlStorageValue>>(
    sql: string,
    ...values: SqlStorageValue[]
  ): Row[] {
    try {
      return this.#sql.exec<Row>(sql, ...values).toArray()
    } catch (error) {
      if (!isWithoutTables(error)) throw error
      this.#sql.exec(memoryTables)
      return this.#sql.exec<Row>(sql, ...values).toArray()
    }
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

const isWithoutTables = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('no such table')

const insertTurn = `INSERT INTO turns (activation_id, session_id, at, gist, messages, usage, tools)
  VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (activation_id) DO NOTHING RETURNING seq`

const readMemories = `SELECT
  coalesce((SELECT summary FROM sessions WHERE id = ?1), '') AS summary,
  (SELECT json_group_array(messages) FROM
    (SELECT messages FROM turns WHERE session_id = ?1 ORDER BY seq DESC LIMIT ${memoryLimits.historyTurnsMax})) AS turns,
  (SELECT json_group_array(json_object('id', id, 'text', text, 'source', source, 'createdAt', created_at)) FROM
    (SELECT * FROM facts ORDER BY id DESC LIMIT ?2)) AS facts,
  (SELECT json_group_array(json_object('id', id, 'text', text, 'createdAt', created_at)) FROM
    (SELECT * FROM tasks WHERE done_at IS NULL ORDER BY id LIMIT ${memoryLimits.openTasksMax})) AS tasks,
  (SELECT json_group_array(json_object('at', at, 'gist', gist)) FROM
    (SELECT at, gist FROM turns WHERE session_id <> ?1 AND gist <> '' ORDER BY seq DESC LIMIT ${memoryLimits.latelyMax})) AS lately`
