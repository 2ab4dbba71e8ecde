// The database of a hub on this machine: one object that answers as D1 does, without the layers
// that Miniflare's has for development. It opens the file that Miniflare's own D1 would open.
import { DurableObject } from 'cloudflare:workers'

const comments = /^\s+--.*/gm
const kindsMax = 2_000

/**
 * What a statement is. Reading it costs as much as a short statement, so it is kept.
 * @type {Map<string, { isEmpty: boolean, isRead: boolean, isAboutRows: boolean }>}
 */
const kinds = new Map()

/** @param {string} sql */
function findKind(sql) {
  const known = kinds.get(sql)
  if (known) return known
  const [first = ''] = /^\s*\w+/.exec(sql) ?? []
  const word = first.trim().toUpperCase()
  const kind = {
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
  if (kinds.size >= kindsMax) kinds.clear()
  kinds.set(sql, kind)
  return kind
}

export class LocalDatabase extends DurableObject {
  /** What the next statement finds; null when it may have changed since. */
  #last = null

  /**
   * Runs the statements as one transaction.
   * @param {string} text JSON of `{ sql, params }`, or of a list of them
   * @param {boolean} asObjects whether rows are objects; arrays otherwise
   * @returns {Promise<string>} JSON as D1's binding reads it
   */
  async query(text, asObjects) {
    try {
      const sent = JSON.parse(text)
      const queries = (Array.isArray(sent) ? sent : [sent]).filter(
        ({ sql }) => !findKind(sql).isEmpty,
      )
      if (queries.length === 0) throw new Error('No SQL statements detected.')
      const run = () => queries.map((query) => this.#run(query, asObjects))
      // Nothing comes between reads: they run without a pause. Only writes need a transaction.
      const isRead = queries.every(({ sql }) => findKind(sql).isRead)
      const results = isRead ? run() : await this.#runInTransaction(run)
      const size = this.ctx.storage.sql.databaseSize
      for (const { meta } of results) meta.size_after = size
      return JSON.stringify(results)
    } catch (error) {
      return JSON.stringify({ success: false, error: error?.message ?? String(error) })
    }
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

  /** Where a session of the client stands. */
  bookmark() {
    return this.ctx.storage.getCurrentBookmark()
  }

  #run({ sql, params }, asObjects) {
    const { sql: database } = this.ctx.storage
    const before = this.#last ?? this.#readState()
    const { isRead, isAboutRows } = findKind(sql)
    const sizeBefore = isAboutRows ? null : database.databaseSize
    const startedAt = performance.now()
    const cursor = database.exec(sql, ...(params ?? []).map(toSqlValue))
    const columns = cursor.columnNames
    const rows = Array.from(cursor.raw(), (row) => row.map(toJsonValue))
    const duration = performance.now() - startedAt
    const after = isRead ? before : this.#readState()
    this.#last = after
    const changes = after.changes - before.changes
    const changed =
      changes !== 0 ||
      after.lastRowId !== before.lastRowId ||
      (sizeBefore !== null && database.databaseSize !== sizeBefore)
    return {
      success: true,
      results: asObjects ? rows.map((row) => toObject(columns, row)) : { columns, rows },
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

const toJsonValue = (value) =>
  value instanceof ArrayBuffer ? Array.from(new Uint8Array(value)) : value

const toObject = (columns, row) => Object.fromEntries(columns.map((name, at) => [name, row[at]]))

export default { fetch: () => new Response(null, { status: 404 }) }
