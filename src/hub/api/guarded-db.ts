import { type Db, withD1 } from '../db'

export interface Guard {
  /** Statements to run in the same batch before the first reads. */
  statements(db: Db): D1PreparedStatement[]
  /** Decides from the results of `statements`; throws to refuse access. */
  admit(results: D1Result<unknown>[]): Promise<void>
}

const writes = /\b(INSERT|UPDATE|DELETE|REPLACE)\b/i

/**
 * Wraps a database so that a guard decides before results are returned. Reads run in one batch with the
 * guard's statements, and their results reach the caller only when the guard admits them. Statements
 * that can write wait for the decision. Each round trip that starts before the first decision is made
 * runs the guard itself.
 */
export function guardDb(db: Db, guard: Guard): Db {
  const inner = new WeakMap<object, { statement: D1PreparedStatement; canWrite: boolean }>()
  let isAdmitted = false

  const decide = async () => {
    if (isAdmitted) return
    await guard.admit(await db.d1.batch<unknown>(guard.statements(db)))
    isAdmitted = true
  }
  const run = async (batch: D1PreparedStatement[]): Promise<D1Result<unknown>[]> => {
    const entries = batch.map((each) => inner.get(each) ?? { statement: each, canWrite: true })
    const statements = entries.map(({ statement }) => statement)
    if (entries.some(({ canWrite }) => canWrite)) await decide()
    if (isAdmitted) return db.d1.batch<unknown>(statements)
    const checks = guard.statements(db)
    const results = await db.d1.batch<unknown>([...checks, ...statements])
    await guard.admit(results.slice(0, checks.length))
    isAdmitted = true
    return results.slice(checks.length)
  }
  const wrap = (statement: D1PreparedStatement, canWrite: boolean): D1PreparedStatement => {
    const all = async () => (await run([guarded]))[0]
    const guarded = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values), canWrite),
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
    inner.set(guarded, { statement, canWrite })
    return guarded
  }
  const d1 = {
    prepare: (sql: string) => wrap(db.d1.prepare(sql), writes.test(sql)),
    batch: run,
  } as unknown as D1Database
  return withD1(db, d1)
}
