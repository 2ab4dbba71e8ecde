import type { D1Database, D1Meta, D1PreparedStatement } from '@cloudflare/workers-types'

/** What the calls through one `Db` cost at the binding. */
export interface D1Cost {
  roundTrips: number
  rowsRead: number
  rowsWritten: number
}

/** All costs of this isolate since it started, for `/metrics` and for tests that count. */
export const d1Totals: D1Cost = { roundTrips: 0, rowsRead: 0, rowsWritten: 0 }

/** A way to D1 whose `cost` counts what goes through it. `run` and `batch` send statements. */
export interface Db {
  d1: D1Database
  cost: D1Cost
  /**
   * Opens a session, whose reads a copy of the database near the reader may answer.
   *
   * @param start a bookmark: with all that was written before it; `first-primary`: with all that was written;
   * `first-unconstrained`: as any copy has it
   */
  openSession(start: string): Db
  /** Returns where this session stands, for `openSession`; null outside of a session. */
  getBookmark(): string | null
}

/** One `Db` per request or per Durable Object event, so that its cost is that of the request. */
export function createDb(binding: D1Database): Db {
  const cost: D1Cost = { roundTrips: 0, rowsRead: 0, rowsWritten: 0 }
  const db: Db = {
    d1: meterD1(binding, cost),
    cost,
    openSession: (start) => {
      const session = binding.withSession(start)
      return { ...db, d1: meterD1(session, cost), getBookmark: () => session.getBookmark() }
    },
    getBookmark: () => null,
  }
  return db
}

/**
 * A D1 database that adds what each call costs to `cost` and to `d1Totals`. A `batch` is one round
 * trip, whatever it holds.
 */
function meterD1(d1: Pick<D1Database, 'prepare' | 'batch'>, cost: D1Cost): D1Database {
  const inner = new WeakMap<object, D1PreparedStatement>()
  const countTrip = () => {
    cost.roundTrips++
    d1Totals.roundTrips++
  }
  const countRows = (meta: D1Meta & Record<string, unknown>) => {
    cost.rowsRead += meta.rows_read
    cost.rowsWritten += meta.rows_written
    d1Totals.rowsRead += meta.rows_read
    d1Totals.rowsWritten += meta.rows_written
  }
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
    const all = async () => {
      countTrip()
      const result = await statement.all()
      countRows(result.meta)
      return result
    }
    const metered = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      all,
      run: all,
    } as unknown as D1PreparedStatement
    inner.set(metered, statement)
    return metered
  }
  return {
    prepare: (sql: string) => wrap(d1.prepare(sql)),
    batch: async (statements: D1PreparedStatement[]) => {
      countTrip()
      const results = await d1.batch(statements.map((each) => inner.get(each) ?? each))
      for (const result of results) countRows(result.meta)
      return results
    },
  } as unknown as D1Database
}
