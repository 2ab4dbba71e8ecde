import { limits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { Charge, LoopEvent, LoopEventOf } from '../loop/event'
import { initialState, type LoopState } from '../loop/state'
import type { TokenRatio } from '../models/estimate-tokens'
import type { ResumeMark } from '../recovery'

/** The journaled activation: the running one, or the last one. */
interface JournaledActivation {
  state: LoopState
  events: LoopEvent[]
}

/** The journal's agent. It is stored because an alarm doesn't know the name of its object. */
interface JournalOwner {
  agentId: AccountId | null
  /** Whether the agent was ever watched: a hibernating socket can outlive its machine. */
  wasWatched: boolean
}

/** A sent model call, and its charge if the response gets lost. */
export interface SentCall {
  effectId: number
  worst: Charge
}

/** A sent model call as the journal stores it. */
interface JournaledCall extends SentCall {
  /** Number of the activation's rows when the call was sent. */
  rows: number
}

/**
 * The durable log of one agent's activation: one row per event, with the state after it. The platform
 * holds back outgoing requests until the rows before them are on disk, so an effect never precedes
 * its row. The journal holds one activation; finished ones are stored in the hub as traces. Rows of
 * the next activation overwrite those of the last in place, which costs less than deleting and
 * inserting; `run` distinguishes them.
 */
export class Journal {
  readonly #sql: SqlStorage
  #run = 0
  #seq = 0
  /** State after the last row. */
  #state: LoopState = initialState
  #owner: JournalOwner = { agentId: null, wasWatched: false }

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** Loads the journal, and creates its table if needed. Must be called first. */
  load(): JournaledActivation & JournalOwner {
    const isNew = this.#sql.exec(journalTable).rowsWritten > 0
    // A new table is empty, and each prepared statement takes memory in each of many agents.
    const rows = isNew ? [] : this.#sql.exec<Row & { seq: number; run: number }>(loadRows).toArray()
    const owner = rows[0]?.seq === ownerSeq ? rows.shift() : undefined
    this.#run = rows[0]?.run ?? 0
    const agentId = (owner?.event || null) as AccountId | null
    this.#owner = { agentId, wasWatched: owner?.state === watchedMark }
    return { ...this.#setRows(rows), ...this.#owner }
  }

  saveOwner(owner: Partial<JournalOwner>): void {
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
    const changes = toChanges(this.#state, state)
    this.#sql.exec(insertRow, ++this.#seq, this.#run, text, changes)
    this.#state = state
  }

  /** Starts a new activation with the next row. */
  begin(): void {
    this.#run++
    this.#seq = 0
    this.#state = initialState
  }

  /** Copies all rows of a parked activation, until its approvals are decided. */
  saveParked(activationId: ActivationId): void {
    this.#sql.exec(parkedTable)
    this.#sql.exec(
      'INSERT OR REPLACE INTO parked SELECT ?, seq, event, state FROM journal WHERE run = ? AND seq <= ?',
      activationId,
      this.#run,
      this.#seq,
    )
  }

  /** Deletes parked activations, and with `isLastToo` the rows of the last one, which must have ended. */
  deleteRuns(ids: ActivationId[], isLastToo: boolean): void {
    this.#sql.exec(parkedTable)
    this.#sql.exec(
      'DELETE FROM parked WHERE activation_id IN (SELECT value FROM json_each(?))',
      JSON.stringify(ids),
    )
    if (isLastToo) this.#sql.exec('DELETE FROM journal WHERE seq > ?', ownerSeq)
  }

  hasParked(activationId: ActivationId): boolean {
    this.#sql.exec(parkedTable)
    return (
      this.#sql.exec('SELECT 1 FROM parked WHERE activation_id = ? LIMIT 1', activationId).toArray()
        .length > 0
    )
  }

  /**
   * Cancels a parked activation that the hub has resumed but this object has not loaded yet. Returns
   * false when no parked activation has that id.
   */
  cancelParked(activationId: ActivationId, event: LoopEventOf<'cancel_requested'>): boolean {
    this.#sql.exec(parkedTable)
    const changes: Partial<LoopState> = { isCancelled: true }
    return (
      this.#sql.exec(
        `INSERT INTO parked SELECT activation_id, max(seq) + 1, ?, ? FROM parked
         WHERE activation_id = ? GROUP BY activation_id`,
        JSON.stringify(event),
        JSON.stringify(changes),
        activationId,
      ).rowsWritten > 0
    )
  }

  /** Returns a parked activation; null when its rows don't exist. */
  readParked(activationId: ActivationId): JournaledActivation | null {
    const rows = this.#selectParked(activationId)
    return rows.length === 0 ? null : parseRows(rows)
  }

  /** Makes a parked activation the running one; null when its rows don't exist. */
  resumeParked(activationId: ActivationId): JournaledActivation | null {
    const rows = this.#selectParked(activationId)
    if (rows.length === 0) return null
    this.begin()
    this.#sql.exec(
      'INSERT OR REPLACE INTO journal (seq, run, event, state) SELECT seq, ?, event, state FROM parked WHERE activation_id = ?',
      this.#run,
      activationId,
    )
    this.#sql.exec('DELETE FROM parked WHERE activation_id = ?', activationId)
    return this.#setRows(rows)
  }

  #selectParked(activationId: ActivationId): Row[] {
    this.#sql.exec(parkedTable)
    return this.#sql
      .exec<Row>(
        'SELECT event, state FROM parked WHERE activation_id = ? ORDER BY seq',
        activationId,
      )
      .toArray()
  }

  #setRows(rows: Row[]): JournaledActivation {
    const journaled = parseRows(rows)
    this.#seq = rows.length
    this.#state = journaled.state
    return journaled
  }

  countRows(): number {
    return this.#seq
  }

  /**
   * Records a model call right before it is sent, with its worst-case charge. The write also fences
   * off a superseded object.
   */
  recordSentCall(call: SentCall): void {
    const marked: JournaledCall = { ...call, rows: this.#seq }
    // Reuses a prepared statement: each takes memory in each of many agents.
    this.#sql.exec(insertRow, sentSeq, noRun, JSON.stringify(marked), '')
  }

  saveRatios(ratios: Record<string, TokenRatio>): void {
    this.#sql.exec(insertRow, ratiosSeq, noRun, JSON.stringify(ratios), '')
  }

  saveMark(mark: ResumeMark): void {
    this.#sql.exec(insertRow, markSeq, noRun, JSON.stringify(mark), '')
  }

  /** Returns the mark of the run that was resumed last; null when none ever was. */
  readMark(): ResumeMark | null {
    return this.#readReserved<ResumeMark>(markSeq)
  }

  /** Returns what models have counted for this agent's prompts, by `provider/model`. */
  readRatios(): Record<string, TokenRatio> {
    return this.#readReserved<Record<string, TokenRatio>>(ratiosSeq) ?? {}
  }

  /** Returns the last sent call of any activation. Effect ids are unique, so they identify it. */
  readSentCall(): JournaledCall | null {
    return this.#readReserved<JournaledCall>(sentSeq)
  }

  #readReserved<Value>(seq: number): Value | null {
    const row = this.#sql
      .exec<{ event: string }>('SELECT event FROM journal WHERE seq = ?', seq)
      .toArray()[0]
    return row ? (JSON.parse(row.event) as Value) : null
  }
}

/**
 * Reserved `seq` values: rows for the owner, the last sent call, what models count, and the run that was resumed last.
 * Separate tables would be one more page for each agent.
 */
export const ownerSeq = 0
const sentSeq = -1
const ratiosSeq = -2
const markSeq = -3
const noRun = -1
const watchedMark = 'watched'

/** Without constraints: `insertRow` fills every column, and checks take memory in each agent. */
const journalTable = `CREATE TABLE IF NOT EXISTS journal (
  seq INTEGER PRIMARY KEY, run INTEGER, event TEXT, state TEXT)`

const loadRows = `
  SELECT seq, run, event, state FROM journal
  WHERE seq = ${ownerSeq} OR run = (SELECT run FROM journal WHERE seq = 1) ORDER BY seq`

const insertRow = 'REPLACE INTO journal (seq, run, event, state) VALUES (?, ?, ?, ?)'

/** Created when it is first needed: most agents never wait for an approval. */
const parkedTable = `CREATE TABLE IF NOT EXISTS parked (
  activation_id TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, state TEXT NOT NULL,
  PRIMARY KEY (activation_id, seq)) WITHOUT ROWID`

/** SQL that creates each table. */
export const journalTables = { journal: journalTable, parked: parkedTable }

interface Row extends Record<string, SqlStorageValue> {
  event: string
  state: string
}

/**
 * Returns the changed fields of the state as JSON, starting from the state of an idle loop. A value in
 * `initialState` must therefore keep its meaning: stored activations would read the new value.
 */
function toChanges(before: LoopState, after: LoopState): string {
  const changed: Partial<Record<keyof LoopState, unknown>> = {}
  // All states are made from the initial one, so they have the same keys in the same order.
  const [old, now] = [Object.values(before), Object.values(after)]
  let index = 0
  for (const key of stateKeys) {
    if (now[index] !== old[index]) changed[key] = now[index]
    index++
  }
  return JSON.stringify(changed)
}

const stateKeys = Object.keys(initialState) as (keyof LoopState)[]

const parseRows = (rows: Row[]): JournaledActivation => ({
  state: Object.assign({}, initialState, ...rows.map(({ state }) => JSON.parse(state))),
  events: rows.map(({ event }) => JSON.parse(event) as LoopEvent),
})
