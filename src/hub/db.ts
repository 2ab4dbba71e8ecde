import { drizzle } from 'drizzle-orm/d1'

/** D1 round trips and rows that calls through one `Db` used. */
export interface D1Cost {
  roundTrips: number
  rowsRead: number
  rowsWritten: number
}

/** D1 cost of this isolate since it started, for `/metrics` and for tests. */
export const d1Totals: D1Cost = { roundTrips: 0, rowsRead: 0, rowsWritten: 0 }

/**
 * Wraps a D1 database so that the cost of each call is added to `cost` and to `d1Totals`. A `batch`
 * counts as one round trip.
 */
function meterD1(d1: D1Database, cost: D1Cost): D1Database {
  const inner = new WeakMap<object, D1PreparedStatement>()
  const countRoundTrip = () => {
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
      countRoundTrip()
      const result = await statement.all()
      countRows(result.meta)
      return result
    }
    const metered = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      all,
      run: all,
      first: async (column?: string) => {
        const row = (await all()).results[0]
        if (row === undefined) return null
        return column === undefined ? row : (row[column] ?? null)
      },
      raw: async (options?: { columnNames?: boolean }) => {
        countRoundTrip()
        return options?.columnNames ? statement.raw({ columnNames: true }) : statement.raw()
      },
    } as unknown as D1PreparedStatement
    inner.set(metered, statement)
    return metered
  }
  return {
    prepare: (sql: string) => wrap(d1.prepare(sql)),
    batch: async (statements: D1PreparedStatement[]) => {
      countRoundTrip()
      const results = await d1.batch(statements.map((each) => inner.get(each) ?? each))
      for (const result of results) countRows(result.meta)
      return results
    },
  } as unknown as D1Database
}

/**
 * The hub's access to D1: `orm` for queries built with drizzle, `d1` for hot paths written as SQL.
 * Both count into `cost`. Writes in `queries.ts` return unexecuted statements of either kind; an
 * action runs them in one `d1.batch` (`toD1` turns a drizzle query into a statement).
 */
export interface Db {
  d1: D1Database
  orm: ReturnType<typeof drizzle>
  cost: D1Cost
}

/** Creates a `Db` for one request or Durable Object event, so that `cost` is the cost of that request. */
export function createDb(binding: D1Database): Db {
  const cost: D1Cost = { roundTrips: 0, rowsRead: 0, rowsWritten: 0 }
  const d1 = meterD1(binding, cost)
  return { d1, orm: drizzle(d1), cost }
}

/** Returns the same `Db` on another database handle. */
export const withD1 = (db: Db, d1: D1Database): Db => ({ d1, orm: drizzle(d1), cost: db.cost })

/** Converts a drizzle query to a D1 statement, so that a batch can mix it with hand-written SQL. */
export function toD1(
  db: Db,
  query: { toSQL(): { sql: string; params: unknown[] } },
): D1PreparedStatement {
  const { sql, params } = query.toSQL()
  return db.d1.prepare(sql).bind(...params)
}
