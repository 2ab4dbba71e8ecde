import type { D1PreparedStatement } from '@cloudflare/workers-types'
import { DatabaseFault, toDatabaseFault, toStorageFull } from './database-fault'
import type { Db } from './db'
import type { RawRow, Statement } from './statement'

// biome-ignore lint/suspicious/noExplicitAny: any answer, which `Answer` takes out again
type AnyStatement = Statement<any>
type Entry = AnyStatement | readonly AnyStatement[] | null | undefined

export type Statements = { readonly [name: string]: Entry }

/** The answers of a batch, by the names that its statements have. */
export type Answers<Batch extends Statements> = {
  -readonly [Name in keyof Batch]: Answer<Batch[Name]>
}

type Answer<E> =
  E extends Statement<infer Result>
    ? Result
    : E extends readonly Statement<infer Result>[]
      ? Result[]
      : undefined

/**
 * Sends all statements in one round trip, as one transaction, in the order they are named.
 *
 * @param statements by name, each one, a list of them, or null to leave it out
 * @throws DatabaseFault, after which it is not known whether the batch was written; StorageFull, and for an error of a
 * statement what D1 throws: nothing is written then
 */
export async function batch<Batch extends Statements>(
  db: Db,
  statements: Batch,
): Promise<Answers<Batch>> {
  const entries = Object.entries(statements)
  const all = entries.flatMap(([, entry]) => toList(entry))
  const send = () => db.d1.batch<RawRow>(all.map((statement) => toD1(db, statement)))
  const results = all.length > 0 ? await withFaults(send) : []
  let next = 0
  const read = (statement: AnyStatement): unknown => {
    const result = results[next++]
    if (!result) throw new Error('D1 answered fewer statements than it was sent.')
    return statement.read(result)
  }
  const answers = entries.map(([name, entry]) => [
    name,
    isList(entry) ? entry.map(read) : entry ? read(entry) : undefined,
  ])
  return Object.fromEntries(answers) as Answers<Batch>
}

/** Sends one statement. @throws see `batch` */
export async function run<Result>(db: Db, statement: Statement<Result>): Promise<Result> {
  return statement.read(await withFaults(() => toD1(db, statement).all<RawRow>()))
}

/** Waits before the second and the third attempt, in milliseconds; half of each is random. */
const retryWaitsMs = [100, 400]

/**
 * Repeats what `send` sends after a short fault. Only for statements that find out whether an earlier attempt
 * has written them. Reads need no repetition: D1 repeats them itself.
 *
 * @throws DatabaseFault when the last attempt failed too
 */
export async function repeatAfterFault<Result>(send: () => Promise<Result>): Promise<Result> {
  for (const waitMs of retryWaitsMs) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof DatabaseFault && error.isShort)) throw error
      await new Promise((go) => setTimeout(go, (waitMs * (1 + Math.random())) / 2))
    }
  }
  return send()
}

async function withFaults<Result>(send: () => Promise<Result>): Promise<Result> {
  try {
    return await send()
  } catch (error) {
    throw toStorageFull(error, Date.now()) ?? toDatabaseFault(error) ?? error
  }
}

const isList = (entry: Entry): entry is readonly AnyStatement[] => Array.isArray(entry)

const toList = (entry: Entry): readonly AnyStatement[] =>
  isList(entry) ? entry : entry ? [entry] : []

function toD1(db: Db, statement: AnyStatement): D1PreparedStatement {
  const { sql, params } = statement.compile()
  return db.d1.prepare(sql).bind(...params)
}
