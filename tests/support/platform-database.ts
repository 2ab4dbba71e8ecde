import type { D1Database, D1PreparedStatement } from '@cloudflare/workers-types'
import { countQueries, countSubrequest } from './platform-invocation'

/**
 * Limits of a deployed D1 that a local one does not enforce.
 * https://developers.cloudflare.com/d1/platform/limits/
 */
const platformLimits = {
  valueBytesMax: 2_000_000,
  statementBytesMax: 100_000,
  parametersMax: 100,
  functionArgumentsMax: 32,
}

/** A fault of the database: the message of the platform, and whether the statements ran before it. */
export interface Fault {
  message: string
  isWritten: boolean
}

/** Returns the fault of a call with these statements; null to let it pass, at once or after what it awaits. */
export type FindFault = (sql: string[]) => Fault | null | Promise<null>

/**
 * Returns the database as deployed: it refuses what goes beyond the limits of the platform, and fails as the
 * platform does when `findFault` says so.
 */
export function asDeployed(
  d1: D1Database,
  findFault: FindFault = () => null,
  /** Where the sessions that were opened started. */
  sessions: string[] = [],
): D1Database {
  const inner = new WeakMap<object, { statement: D1PreparedStatement; sql: string }>()
  const open = (statements: D1PreparedStatement[]) =>
    statements.map((each) => inner.get(each) ?? { statement: each, sql: '' })
  const call = async <Result>(sql: string[], send: () => Promise<Result>): Promise<Result> => {
    countSubrequest('binding')
    countQueries(sql.length)
    const fault = await findFault(sql)
    if (!fault || fault.isWritten) {
      const result = await send()
      if (!fault) return result
    }
    throw new Error(`D1_ERROR: ${fault.message}`, { cause: new Error(fault.message) })
  }
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const all = () => call([sql], () => statement.all())
    const wrapped = {
      bind: (...values: unknown[]) => {
        checkValues(values, sql)
        return wrap(statement.bind(...values), sql)
      },
      all,
      run: all,
    } as unknown as D1PreparedStatement
    inner.set(wrapped, { statement, sql })
    return wrapped
  }
  const database = {
    prepare: (sql: string) => {
      checkStatement(sql)
      return wrap(d1.prepare(sql), sql)
    },
    batch: (statements: D1PreparedStatement[]) => {
      const all = open(statements)
      return call(
        all.map(({ sql }) => sql),
        () => d1.batch(all.map(({ statement }) => statement)),
      )
    },
    withSession: (start: string) => {
      sessions.push(start)
      return { ...database, getBookmark: () => 'bookmark-of-test' }
    },
  } as unknown as D1Database
  return database
}

const bytesOf = (text: string): number =>
  // A character is at most three bytes, so most texts need not be encoded.
  text.length * 3 < platformLimits.statementBytesMax
    ? text.length
    : new TextEncoder().encode(text).byteLength

const checkedStatements = new Set<string>()

function checkStatement(sql: string): void {
  if (checkedStatements.has(sql)) return
  if (bytesOf(sql) > platformLimits.statementBytesMax) {
    throw new Error(`The statement is longer than D1 accepts: ${sql.slice(0, 200)}`)
  }
  const count = countArguments(sql)
  if (count > platformLimits.functionArgumentsMax) {
    throw new Error(`A function of the statement has ${count} arguments: ${sql}`)
  }
  checkedStatements.add(sql)
}

function checkValues(values: unknown[], sql: string): void {
  if (values.length > platformLimits.parametersMax) {
    throw new Error(`The statement has ${values.length} parameters: ${sql}`)
  }
  for (const value of values) {
    const bytes = typeof value === 'string' ? bytesOf(value) : 0
    if (bytes > platformLimits.valueBytesMax) {
      throw new Error(`A value of ${bytes} bytes is longer than D1 accepts: ${sql}`)
    }
  }
}

/** Returns the most arguments that a function call in the statement has. */
export function countArguments(sql: string): number {
  const code = sql.replace(/'(?:[^']|'')*'/g, "''").replace(/"[^"]*"/g, '""')
  const open: { isCall: boolean; commas: number }[] = []
  let most = 0
  for (const [token] of code.matchAll(/\w*\s*\(|\)|,/g)) {
    if (token.endsWith('(')) open.push({ isCall: isFunctionName(token), commas: 0 })
    else if (token === ',') {
      const last = open.at(-1)
      if (last) last.commas++
    } else {
      const closed = open.pop()
      if (closed?.isCall) most = Math.max(most, closed.commas + 1)
    }
  }
  return most
}

/** Whether a word before a parenthesis calls a function, and is no keyword or name of a table. */
const isFunctionName = (token: string): boolean => /^[a-z_]\w*\($/.test(token)
