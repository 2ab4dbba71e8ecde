import { type Db, withD1 } from '../db'

export interface Guard {
  /** Read in front of whatever is asked. */
  ahead(db: Db): D1PreparedStatement[]
  /** Decides from the results of `ahead`; throws when nothing may be seen. */
  admit(results: D1Result<unknown>[]): Promise<void>
}

const writes = /\b(INSERT|UPDATE|DELETE|REPLACE)\b/i

/**
 * The same database behind a guard: what is read comes in one batch with what decides about it, and
 * reaches the caller only when it is admitted. A statement that may write waits for the decision.
 * Every round trip that starts before the decision brings its own.
 */
export function guardDb(db: Db, guard: Guard): Db {
  const inner = new WeakMap<object, { statement: D1PreparedStatement; mayWrite: boolean }>()
  let isAdmitted = false

  const decide = async () => {
    if (isAdmitted) return
    await guard.admit(await db.d1.batch<unknown>(guard.ahead(db)))
    isAdmitted = true
  }
  const run = async (asked: D1PreparedStatement[]): Promise<D1Result<unknown>[]> => {
    const known = asked.map((each) => inner.get(each) ?? { statement: each, mayWrite: true })
    const statements = known.map(({ statement }) => statement)
    if (known.some(({ mayWrite }) => mayWrite)) await decide()
    if (isAdmitted) return db.d1.batch<unknown>(statements)
    const ahead = guard.ahead(db)
    const results = await db.d1.batch<unknown>([...ahead, ...statements])
    await guard.admit(results.slice(0, ahead.length))
    isAdmitted = true
    return results.slice(ahead.length)
  }
  const wrap = (statement: D1PreparedStatement, mayWrite: boolean): D1PreparedStatement => {
    const all = async () => (await run([guarded]))[0]
    const guarded = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values), mayWrite),
      all,
      run: all,
      first: async (column?: string) => {
        const row = (await all())?.results[0] as Record<string, unknown> | undefined
        if (row === undefined) return null
        return column === undefined ? row : (row[column] ?? null)
      },
      raw: async (options?: { columnNames?: false }) => {
        await decide()
        return statement.raw(options)
      },
    } as unknown as D1PreparedStatement
    inner.set(guarded, { statement, mayWrite })
    return guarded
  }
  const d1 = {
    prepare: (sql: string) => wrap(db.d1.prepare(sql), writes.test(sql)),
    batch: run,
  } as unknown as D1Database
  return withD1(db, d1)
}
