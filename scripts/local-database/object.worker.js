// The database of a hub on this machine: one object that answers as D1 does, without the layers
// that Miniflare's has for development. It opens the file that Miniflare's own D1 would open.
import { DurableObject } from 'cloudflare:workers'

const comments = /^\s+--.*/gm
const statementsMax = 2_000

/** @param {string} sql */
function describe(sql) {
  const [first = ''] = /^\s*\w+/.exec(sql) ?? []
  const word = first.trim().toUpperCase()
  return {
    sql,
    isEmpty: sql.replace(comments, '').trim() === '',
    // Only what surely reads: calling a read a write costs a transaction, and nothing else.
    isRead:
      ['SELECT', 'EXPLAIN'].includes(word) ||
      (word === 'WITH' && !/\b(?:INSERT|REPLACE|UPDATE|DELETE)\b/i.test(sql)),
    // Others may change the database without changing a row.
    isAboutRows: ['SELECT', 'EXPLAIN', 'WITH', 'INSERT', 'REPLACE', 'UPDATE', 'DELETE'].includes(
      word,
    ),
  }
}

/** Statements that were sent, by numbers that hold as long as this does. */
class Statements {
  id = crypto.randomUUID()
  /** @type {Map<string, number>} */
  #numbers = new Map()
  /** @type {ReturnType<typeof describe>[]} */
  #all = []

  get size() {
    return this.#all.length
  }

  /** @param {number} number */
  get = (number) => this.#all[number]

  /** @param {string} sql */
  add(sql) {
    const known = this.#numbers.get(sql)
    if (known !== undefined) return known
    this.#numbers.set(sql, this.#all.length)
    return this.#all.push(describe(sql)) - 1
  }
}

export class LocalDatabase extends DurableObject {
  #statements = new Statements()
  /** What the next statement finds; null when it may have changed since. */
  #last = null

  /**
   * Runs statements as one transaction.
   * @param {string} message JSON of `{ memory, sent, isInSession }`: statements as texts, or numbers of this memory, each
   *   with its values
   * @returns {Promise<string>} JSON of `{ memory, numbers }`, the numbers of the texts by their places, and what D1's binding
   *   reads: `{ results, bookmark }` or `{ error }`. Neither: the numbers were of another memory
   */
  async query(message) {
    const { memory, sent, isInSession } = JSON.parse(message)
    if (this.#statements.size > statementsMax) this.#statements = new Statements()
    const { id } = this.#statements
    const isText = sent.map(([each]) => typeof each === 'string')
    if (memory !== id && isText.includes(false)) return JSON.stringify({ memory: id })
    const all = sent.map(([each]) => (typeof each === 'string' ? this.#statements.add(each) : each))
    const known = { memory: id, ...(isText.includes(true) && { numbers: all }) }
    try {
      const results = await this.#runAll(
        all.map(this.#statements.get),
        sent.map(([, params]) => params),
      )
      const bookmark = isInSession ? await this.ctx.storage.getCurrentBookmark() : undefined
      return JSON.stringify({ ...known, results, bookmark })
    } catch (error) {
      return JSON.stringify({ ...known, error: error?.message ?? String(error) })
    }
  }

  async #runAll(statements, params) {
    if (statements.every(({ isEmpty }) => isEmpty)) throw new Error('No SQL statements detected.')
    const run = () =>
      statements.flatMap((statement, at) =>
        statement.isEmpty ? [] : [this.#run(statement, params[at])],
      )
    // Nothing comes between reads: they run without a pause. Only writes need a transaction.
    const isRead = statements.every(({ isRead, isEmpty }) => isRead || isEmpty)
    const results = isRead ? run() : await this.#runInTransaction(run)
    const size = this.ctx.storage.sql.databaseSize
    for (const { meta } of results) meta.size_after = size
    return results
  }

  async #runInTransaction(run) {
    this.#last = null
    try {
      return await this.ctx.storage.transaction(async () => run())
    } finally {
      // Full-text indexes write when a transaction ends, and a failed one takes its writes back.
      this.#last = null
    }
  }

  #run({ sql, isRead, isAboutRows }, params) {
    const { sql: database } = this.ctx.storage
    const before = this.#last ?? this.#readState()
    const sizeBefore = isAboutRows ? null : database.databaseSize
    const startedAt = performance.now()
    const cursor = database.exec(sql, ...params.map(toSqlValue))
    const columns = cursor.columnNames
    const rows = Array.from(cursor.raw(), (row) => row.map(toSentValue))
    const duration = performance.now() - startedAt
    const after = isRead ? before : this.#readState()
    this.#last = after
    const changes = after.changes - before.changes
    const changed =
      changes !== 0 ||
      after.lastRowId !== before.lastRowId ||
      (sizeBefore !== null && database.databaseSize !== sizeBefore)
    return {
      data: { kind: 'raw', columns, rows },
      meta: {
        served_by: 'rookery.local',
        served_by_primary: true,
        total_attempts: 1,
        timings: { sql_duration_ms: duration },
        duration,
        changes,
        last_row_id: after.lastRowId,
        changed_db: changed,
        rows_read: cursor.rowsRead,
        rows_written: cursor.rowsWritten,
      },
    }
  }

  #readState() {
    const counters = 'SELECT total_changes(), last_insert_rowid()'
    const [[changes, lastRowId]] = this.ctx.storage.sql.exec(counters).raw()
    return { changes, lastRowId }
  }
}

/** Bytes travel as a list of numbers, as D1's binding sends and reads them. */
const toSqlValue = (value) => (Array.isArray(value) ? new Uint8Array(value).buffer : value)

const toSentValue = (value) =>
  value instanceof ArrayBuffer ? Array.from(new Uint8Array(value)) : value

export default { fetch: () => new Response(null, { status: 404 }) }
