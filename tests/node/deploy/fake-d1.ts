import type { DatabaseSync } from 'node:sqlite'
import type { QueryResult } from 'cloudflare/resources/d1/database/database'

/** An error answer of the platform. */
export class Refusal extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Runs what one request sends to a D1 database; null: there is none. */
export function runQuery(database: DatabaseSync | null, sql: string): QueryResult[] {
  if (database === null) throw new Refusal(404, 7404, 'The database does not exist')
  const meta = { duration: 1, rows_read: 0, rows_written: 0 }
  if (/^\s*SELECT/i.test(sql)) {
    return [{ results: database.prepare(sql).all(), success: true, meta }]
  }
  // The platform runs the statements of a request as one transaction.
  database.exec('BEGIN')
  try {
    database.exec(sql)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw new Refusal(400, 7500, `${error}`)
  }
  return [{ results: [], success: true, meta }]
}
