import { limits } from '../../config'
import { AppError } from '../../errors'
import type { Charge, LoopEvent } from '../loop/event'
import { initialState, type LoopState } from '../loop/state'

/** What the journal holds when an object starts: the activation under way, or the last one. */
export interface Journaled {
  state: LoopState
  events: LoopEvent[]
}

/** A model call that was sent, and what it is charged when its answer gets lost. */
export interface SentCall {
  effectId: number
  worst: Charge
}

/**
 * The durable memory of one agent's activation: one row an event, with the state after it. The
 * platform holds back outgoing requests until the rows before them are on disk, so an effect never
 * runs ahead of its row. It holds one activation; finished ones live in the hub as traces.
 */
export class Journal {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
    sql.exec(`
      CREATE TABLE IF NOT EXISTS journal (seq INTEGER PRIMARY KEY, event TEXT NOT NULL, state TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS sent_call (one INTEGER PRIMARY KEY CHECK (one = 1), effect_id INTEGER NOT NULL, worst TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;`)
  }

  load(): Journaled {
    const rows = this.#sql
      .exec<{ event: string; state: string }>('SELECT event, state FROM journal ORDER BY seq')
      .toArray()
    const last = rows.at(-1)
    return {
      state: last ? (JSON.parse(last.state) as LoopState) : initialState,
      events: rows.map(({ event }) => JSON.parse(event) as LoopEvent),
    }
  }

  append(event: LoopEvent, state: LoopState): void {
    const text = JSON.stringify(event)
    if (text.length > limits.storedRowBytesMax) {
      throw new AppError('INTERNAL', `A journal row of ${text.length} characters is too large.`)
    }
    this.#sql.exec('INSERT INTO journal (event, state) VALUES (?, ?)', text, JSON.stringify(state))
  }

  /** Before a new activation. */
  clear(): void {
    this.#sql.exec('DELETE FROM journal')
  }

  countRows(): number {
    return this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM journal').one().n
  }

  /**
   * Right before a model call: fences off a superseded object, and remembers what the call costs at
   * worst.
   */
  markSent(call: SentCall): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO sent_call (one, effect_id, worst) VALUES (1, ?, ?)',
      call.effectId,
      JSON.stringify(call.worst),
    )
  }

  readSent(): SentCall | null {
    const row = this.#sql
      .exec<{ effect_id: number; worst: string }>('SELECT effect_id, worst FROM sent_call')
      .toArray()[0]
    return row ? { effectId: row.effect_id, worst: JSON.parse(row.worst) as Charge } : null
  }

  keep(key: string, value: string): void {
    this.#sql.exec('INSERT OR REPLACE INTO kept (key, value) VALUES (?, ?)', key, value)
  }

  find(key: string): string | null {
    const row = this.#sql
      .exec<{ value: string }>('SELECT value FROM kept WHERE key = ?', key)
      .toArray()[0]
    return row?.value ?? null
  }
}
