import type { D1Database, D1Result } from '@cloudflare/workers-types'
import { is, Param, type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import { type CompiledSql, compileSql, findPlaceholder } from './compile-sql'
import {
  createRowReader,
  type FieldList,
  type Fields,
  flattenFields,
  type RowOf,
  selectList,
} from './fields'

/** One row as D1 returns it: an object by SQL name. */
export type RawRow = Record<string, unknown>

/** An SQL expression that one module passes to a statement of another. */
export type Expression = SQL

/** A statement that has not run, and how its answer becomes a value. `batch` and `run` send it. */
export interface Statement<Result> {
  compile(): CompiledSql
  read(result: D1Result<RawRow>): Result
}

/**
 * Builds plain reads and writes. It has no connection: its queries are only ever given to `one`,
 * `many` and `write`. A query costs about 30 us to build; statements of hot paths are `prepare`d.
 */
export const orm = drizzle({} as D1Database)

class SqlStatement<Result> implements Statement<Result> {
  readonly #query: SQL
  readonly #read: (result: D1Result<RawRow>) => Result

  constructor(query: SQL, read: (result: D1Result<RawRow>) => Result) {
    this.#query = query
    this.#read = read
  }

  compile(): CompiledSql {
    return compileSql(this.#query)
  }

  read(result: D1Result<RawRow>): Result {
    return this.#read(result)
  }
}

/** A drizzle query that returns rows: a select, or a write with `returning`. */
interface RowsQuery<Row> extends SQLWrapper {
  readonly _: { readonly result: Row[] }
}

interface QueryConfig {
  fields?: Fields
  fieldsFlat?: FieldList
  returning?: FieldList
  joins?: unknown[]
}

/** The query with every column under a name of its own, and the columns in order. */
function aliasColumns(query: SQLWrapper): { query: SQL; fields: FieldList } {
  const config = Reflect.get(query, 'config') as QueryConfig
  const isSelect = config.fields !== undefined
  const fields = config.fields ? flattenFields(config.fields) : (config.returning ?? [])
  const columns = selectList(fields)
  const before = { fieldsFlat: config.fieldsFlat, returning: config.returning }
  Object.assign(config, isSelect ? { fieldsFlat: columns } : { returning: columns })
  const aliased = query.getSQL()
  Object.assign(config, before)
  return { query: aliased, fields }
}

function readRows<Row>(fields: FieldList, isAlwaysFound?: Record<string, boolean>) {
  let readRow: ((raw: RawRow) => Row) | undefined
  return (result: D1Result<RawRow>): Row[] => {
    readRow ??= createRowReader<Row>(fields, isAlwaysFound)
    return result.results.map(readRow)
  }
}

function rowsOf<Row>(query: RowsQuery<Row>): {
  sql: SQL
  read: (result: D1Result<RawRow>) => Row[]
} {
  const { query: aliased, fields } = aliasColumns(query)
  return { sql: aliased, read: readRows<Row>(fields, Reflect.get(query, 'joinsNotNullableMap')) }
}

/** All rows of a query. */
export function many<Row>(query: RowsQuery<Row>): Statement<Row[]> {
  const { sql: text, read } = rowsOf(query)
  return new SqlStatement(text, read)
}

/** The first row of a query, if there is one. */
export function one<Row>(query: RowsQuery<Row>): Statement<Row | undefined> {
  const { sql: text, read } = rowsOf(query)
  return new SqlStatement(text, (result) => read(result)[0])
}

/**
 * All rows of a select that the query builder cannot express. The select list is made of `fields`:
 * `SELECT <fields> <rest>`.
 *
 * @param rest from `FROM` on
 * @param before common table expressions, from `WITH` on
 */
export function manySql<F extends Fields>(
  fields: F,
  rest: SQL,
  before?: SQL,
): Statement<RowOf<F>[]> {
  const list = flattenFields(fields)
  const columns = sql.join(
    selectList(list).map(({ field }) => sql`${field.sql} as ${sql.identifier(field.fieldAlias)}`),
    sql`, `,
  )
  const query = sql`${before ? sql`${before} ` : undefined}SELECT ${columns} ${rest}`
  return new SqlStatement(query, readRows<RowOf<F>>(list))
}

/** The first row of such a select, if there is one. */
export function oneSql<F extends Fields>(
  fields: F,
  rest: SQL,
  before?: SQL,
): Statement<RowOf<F> | undefined> {
  return mapStatement(manySql(fields, rest, before), (rows) => rows[0])
}

/** A write without an answer. */
export const write = (query: SQLWrapper): Statement<void> =>
  new SqlStatement(query.getSQL(), () => undefined)

/** A write that answers whether it changed a row. How many is not known: D1 counts those of triggers too. */
export const writeChanges = (query: SQLWrapper): Statement<boolean> =>
  new SqlStatement(query.getSQL(), (result) => result.meta.changes > 0)

/**
 * A write with RETURNING that answers whether it returned a row. Unlike `writeChanges` it counts nothing that triggers
 * change, nor what a full-text index writes late, behind another statement of the batch.
 */
export const writeReturned = (query: SQLWrapper): Statement<boolean> =>
  new SqlStatement(query.getSQL(), (result) => result.results.length > 0)

/** The same statement with another answer. */
export const mapStatement = <From, To>(
  statement: Statement<From>,
  map: (value: From) => To,
): Statement<To> => ({
  compile: () => statement.compile(),
  read: (result) => map(statement.read(result)),
})

/** A placeholder for each value of a prepared statement. */
export type Params<Values> = {
  readonly [Name in keyof Values]: Placeholder<string, Values[Name]>
}

/**
 * A statement of a hot path: built and compiled at its first use, then only bound (1.5 us).
 *
 * @param build is called once, with a placeholder for each value
 */
export function prepare<Values extends object, Result>(
  build: (values: Params<Values>) => Statement<Result>,
): (values: Values) => Statement<Result> {
  let prepared: { statement: Statement<Result>; compiled: CompiledSql } | undefined
  return (values) => {
    prepared ??= compileOnce(build)
    const { statement, compiled } = prepared
    return {
      compile: () => ({ sql: compiled.sql, params: bindValues(compiled.params, values) }),
      read: (result) => statement.read(result),
    }
  }
}

function compileOnce<Values extends object, Result>(
  build: (values: Params<Values>) => Statement<Result>,
) {
  const placeholders = new Proxy({}, { get: (_target, name) => sql.placeholder(String(name)) })
  const statement = build(placeholders as Params<Values>)
  return { statement, compiled: statement.compile() }
}

const bindValues = (params: unknown[], values: object): unknown[] =>
  params.map((param) => {
    const placeholder = findPlaceholder(param)
    if (!placeholder) return param
    const value: unknown = Reflect.get(values, placeholder.name)
    return is(param, Param) && value !== null ? param.encoder.mapToDriverValue(value) : value
  })
