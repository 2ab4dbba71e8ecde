import { limits } from '../../config'
import { AppError } from '../../errors'
import type { AccountId, ActivationId } from '../../ids'
import type { Charge, LoopEvent, LoopEventOf } from '../loop/event'
import { initialState, type LoopState } from '../loop/state'

/** What the journal holds when an object starts: the activation under way, or the last one. */
export interface Journaled {
  state: LoopState
  events: LoopEvent[]
}

/** Whose journal it is: an alarm does not bring the name of its object. */
export interface Owner {
  agentId: AccountId | null
  /** Somebody has watched it, perhaps by a socket that outlived its machine. */
  wasWatched: boolean
}

/** A model call that was sent, and what it is charged when its answer gets lost. */
export interface SentCall {
  effectId: number
  worst: Charge
}

/** As the journal keeps it. */
export interface MarkedCall extends SentCall {
  /** Rows of the activation until then. */
  rows: number
}

/**
 * The durable memory of one agent's activation: one row an event, with the state after it. The
 * platform holds back outgoing requests until the rows before them are on disk, so an effect never
 * runs ahead of its row. It holds one activation; finished ones live in the hub as traces. Rows of the next
 * activation overwrite those of the last in place, which costs less than deleting and growing again;
 * `run` tells them apart.
 */
export class Journal {
  readonly #sql: SqlStorage
  #run = 0
  #seq = 0
  /** The rows' events as they are written. */
  #texts: string[] = []
  /** After the last row. */
  #state: LoopState = initialState
  #owner: Owner = { agentId: null, wasWatched: false }

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** The first thing to ask of it: the table is made if there is none. */
  load(): Journaled & Owner {
    const isNew = this.#sql.exec(journalTable).rowsWritten > 0
    // a table that was just made has rows in the schema alone; a statement that reads it would take
    // memory, for each of many agents
    const rows = isNew ? [] : this.#sql.exec<Row & { seq: number; run: number }>(loadRows).toArray()
    const owner = rows[0]?.seq === ownerSeq ? rows.shift() : undefined
    this.#run = rows[0]?.run ?? 0
    const agentId = (owner?.event || null) as AccountId | null
    this.#owner = { agentId, wasWatched: owner?.state === watchedMark }
    return { ...this.#take(rows), ...this.#owner }
  }

  keepOwner(owner: Partial<Owner>): void {
    this.#owner = { ...this.#owner, ...owner }
    const { agentId, wasWatched } = this.#owner
    const mark = wasWatched ? watchedMark : ''
    this.#sql.exec(insertRow, ownerSeq, noRun, agentId ?? '', mark)
  }

  append(event: LoopEvent, state: LoopState): void {
    const text = JSON.stringify(event)
    if (text.length > limits.storedRowBytesMax) {
      throw new AppError('INTERNAL', `A journal row of ${text.length} characters is too large.`)
    }
    const changes = writeChanges(this.#state, state)
    this.#sql.exec(insertRow, ++this.#seq, this.#run, text, changes)
    this.#texts.push(text)
    this.#state = state
  }

  /** The next row begins a new activation. */
  begin(): void {
    this.#run++
    this.#seq = 0
    this.#texts = []
    this.#state = initialState
  }

  /** The events of the activation, each as JSON. */
  readTexts(): readonly string[] {
    return this.#texts
  }

  /** The activation is over: what is not needed any more takes no memory. */
  dropTexts(): void {
    this.#texts = []
  }

  /** Keeps all rows of an activation that is parked, for as long as people take (L30). */
  setAside(activationId: ActivationId): void {
    this.#sql.exec(parkedTable)
    this.#sql.exec(
      'INSERT OR REPLACE INTO parked SELECT ?, seq, event, state FROM journal WHERE run = ? AND seq <= ?',
      activationId,
      this.#run,
      this.#seq,
    )
  }

  hasParked(activationId: ActivationId): boolean {
    this.#sql.exec(parkedTable)
    return (
      this.#sql.exec('SELECT 1 FROM parked WHERE activation_id = ? LIMIT 1', activationId).toArray()
        .length > 0
    )
  }

  /**
   * A stop of an activation that was set aside: the hub runs it again, but has not told so yet. False
   * when there is none of that id (L34).
   */
  stopAside(activationId: ActivationId, event: LoopEventOf<'cancel_requested'>): boolean {
    this.#sql.exec(parkedTable)
    const changes: Partial<LoopState> = { isCancelled: true }
    return (
      this.#sql.exec(
        `INSERT INTO parked SELECT activation_id, max(seq) + 1, ?, ? FROM parked
         WHERE activation_id = ? GROUP BY activation_id`,
        ...[JSON.stringify(event), JSON.stringify(changes), activationId],
      ).rowsWritten > 0
    )
  }

  /** A parked activation as it was left; null when its rows are gone. */
  readAside(activationId: ActivationId): Journaled | null {
    const rows = this.#readParked(activationId)
    return rows.length === 0 ? null : parseRows(rows)
  }

  /** Makes a parked activation the one under way; null when its rows are gone. */
  takeUp(activationId: ActivationId): Journaled | null {
    const rows = this.#readParked(activationId)
    if (rows.length === 0) return null
    this.begin()
    this.#sql.exec(
      'INSERT OR REPLACE INTO journal (seq, run, event, state) SELECT seq, ?, event, state FROM parked WHERE activation_id = ?',
      this.#run,
      activationId,
    )
    this.#sql.exec('DELETE FROM parked WHERE activation_id = ?', activationId)
    return this.#take(rows)
  }

  #readParked(activationId: ActivationId): Row[] {
    this.#sql.exec(parkedTable)
    return this.#sql
      .exec<Row>(
        'SELECT event, state FROM parked WHERE activation_id = ? ORDER BY seq',
        activationId,
      )
      .toArray()
  }

  #take(rows: Row[]): Journaled {
    const journaled = parseRows(rows)
    this.#seq = rows.length
    this.#texts = rows.map(({ event }) => event)
    this.#state = journaled.state
    return journaled
  }

  countRows(): number {
    return this.#seq
  }

  /**
   * Right before a model call that came after other outside work: fences off a superseded object,
   * and remembers what the call costs at worst.
   */
  markSent(call: SentCall): void {
    const marked: MarkedCall = { ...call, rows: this.#seq }
    // by the statement that is there already: each takes memory, for each of many agents
    this.#sql.exec(insertRow, sentSeq, noRun, JSON.stringify(marked), '')
  }

  /** The last one, of whatever activation: the ids of effects tell, since none is given twice. */
  readSent(): MarkedCall | null {
    const row = this.#sql
      .exec<{ event: string }>('SELECT event FROM journal WHERE seq = ?', sentSeq)
      .toArray()[0]
    return row ? (JSON.parse(row.event) as MarkedCall) : null
  }
}

/**
 * Its owner and the last call that was sent stand before its rows: a table of their own would be one
 * more page for each agent.
 */
const ownerSeq = 0
const sentSeq = -1
const noRun = -1
const watchedMark = 'watched'

/** No constraints: `insertRow` fills every column, and each agent's memory holds what checks them. */
const journalTable = `CREATE TABLE IF NOT EXISTS journal (
  seq INTEGER PRIMARY KEY, run INTEGER, event TEXT, state TEXT)`

const loadRows = `
  SELECT seq, run, event, state FROM journal
  WHERE seq = ${ownerSeq} OR run = (SELECT run FROM journal WHERE seq = 1) ORDER BY seq`

const insertRow = 'REPLACE INTO journal (seq, run, event, state) VALUES (?, ?, ?, ?)'

/** Made when it is first needed: most agents never wait for a person. */
const parkedTable = `CREATE TABLE IF NOT EXISTS parked (
  activation_id TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, state TEXT NOT NULL,
  PRIMARY KEY (activation_id, seq)) WITHOUT ROWID`

interface Row extends Record<string, SqlStorageValue> {
  event: string
  state: string
}

/**
 * Only what a row changes, beginning with the state of an idle loop: most of it never does. So a
 * value there must not change its meaning: work under way, or parked for a day, would read the new one.
 */
function writeChanges(before: LoopState, after: LoopState): string {
  const changed: Partial<Record<keyof LoopState, unknown>> = {}
  // every state is made from the initial one, so all have the same keys in the same order
  const [old, now] = [Object.values(before), Object.values(after)]
  let index = 0
  for (const key of stateKeys) {
    if (now[index] !== old[index]) changed[key] = now[index]
    index++
  }
  return JSON.stringify(changed)
}

const stateKeys = Object.keys(initialState) as (keyof LoopState)[]

const parseRows = (rows: Row[]): Journaled => ({
  state: Object.assign({}, initialState, ...rows.map(({ state }) => JSON.parse(state))),
  events: rows.map(({ event }) => JSON.parse(event) as LoopEvent),
})
