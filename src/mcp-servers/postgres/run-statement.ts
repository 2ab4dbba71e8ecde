import { postgresLimits } from '../../shared/config'
import { cancelStatement, type Driver, type Login, openDriver } from './driver'
import { explainError } from './explain-error'
import { type Column, fitRows } from './fit-rows'

export interface Statement {
  sql: string
  params: (string | number | boolean | null)[]
  /** Maximum rows to return. */
  limit: number
  isReadOnly: boolean
  signal: AbortSignal
}

export interface Outcome {
  columns: string[]
  rows: unknown[][]
  note: string
  /** `UPDATE`, `CREATE TABLE`. */
  command: string
  affected: number
}

type Row = (string | null)[]
type Batch = Row[] & { columns?: Column[] }

/** The raw result of a statement. */
interface RawResult {
  columns: Column[]
  rows: Row[]
  command: string
  affected: number
}

/**
 * Runs one statement in one transaction on its own connection. A read ends in ROLLBACK, which undoes the
 * effects that a read-only transaction permits.
 */
export async function runStatement(login: Login, statement: Statement): Promise<Outcome> {
  const { signal, isReadOnly, limit } = statement
  const sql = openDriver(login, signal)
  let running: object | null = null
  const stop = () => {
    const cancelled = running ? cancelStatement(login, running) : Promise.resolve()
    void cancelled.catch(() => undefined).then(() => sql.end({ timeout: 0 }))
  }
  signal.addEventListener('abort', stop)
  try {
    signal.throwIfAborted()
    await sql.unsafe(begin(isReadOnly))
    const answer = await readAnswer(sql, statement, (pending) => {
      running = pending
    })
    running = null
    await sql.unsafe(isReadOnly ? 'ROLLBACK' : 'COMMIT')
    const { command, affected } = answer
    return { ...fitRows(answer, limit, login.scrub), command, affected }
  } catch (error) {
    throw explainError(login, statement, error)
  } finally {
    signal.removeEventListener('abort', stop)
    await sql.end({ timeout: 0 })
  }
}

/**
 * Returns the SQL that begins a transaction. The timeouts are local to it, as a pool can reuse the
 * connection. The SELECT takes the snapshot, after which a transaction cannot be made writable again.
 */
const begin = (isReadOnly: boolean): string => {
  const { statementMs, lockMs } = postgresLimits
  return [
    `BEGIN ${isReadOnly ? 'READ ONLY' : 'READ WRITE'}`,
    `SET LOCAL statement_timeout = ${statementMs}`,
    `SET LOCAL lock_timeout = ${lockMs}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${statementMs}`,
    'SELECT 1',
  ].join('; ')
}

/**
 * Runs the statement with the extended protocol, which accepts a single statement. A read stops at the
 * row limit; a write is read to the end, to count the affected rows.
 */
async function readAnswer(
  sql: Driver,
  { sql: text, params, limit, isReadOnly }: Statement,
  started: (pending: object) => void,
): Promise<RawResult> {
  const rows: Row[] = []
  let columns: Column[] | undefined
  let seen = 0
  const take = (batch: Batch) => {
    columns ??= batch.columns
    seen += batch.length
    rows.push(...batch.slice(0, limit + 1 - rows.length))
  }
  const pending = sql.unsafe(text, params.map(toText), oneStatement)
  pending.values()
  started(pending)
  const done = await pending.cursor(limit + 1, (batch) => {
    take(batch as unknown as Batch)
    return isReadOnly && seen > limit ? sql.CLOSE : undefined
  })
  // Rows that the server does not count, such as those of EXPLAIN, come with the end of the cursor.
  if (!done.count) take(done as unknown as Batch)
  const affected = columns && columns.length > 0 ? seen : (done.count ?? 0)
  return { columns: columns ?? [], rows, command: done.command ?? '', affected }
}

const oneStatement = { prepare: false, simple: false } as { prepare: boolean }

const toText = (value: string | number | boolean | null): string | null =>
  value === null ? null : String(value)
