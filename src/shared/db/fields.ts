import { Column, getTableColumns, getTableName, is, SQL, sql, Table } from 'drizzle-orm'

/** What a select returns: by name a column, an expression, a whole table, or more of these. */
export type Fields = { readonly [name: string]: Column | SQL | SQL.Aliased | Table | Fields }

/** The row that `Fields` describe. A column that may be null is `T | null`. */
export type RowOf<F> = { -readonly [Name in keyof F]: ValueOf<F[Name]> }

type ValueOf<F> = F extends Column
  ? F['_']['notNull'] extends true
    ? F['_']['data']
    : F['_']['data'] | null
  : F extends SQL<infer Value>
    ? Value
    : F extends SQL.Aliased<infer Value>
      ? Value
      : F extends Table
        ? F['$inferSelect']
        : RowOf<F>

/** The fields in order, each with where it stands in the row. */
export type FieldList = { path: string[]; field: Column | SQL | SQL.Aliased }[]

export function flattenFields(fields: Fields, path: string[] = []): FieldList {
  return Object.entries(fields).flatMap(([name, field]) => {
    const at = [...path, name]
    if (is(field, Column) || is(field, SQL) || is(field, SQL.Aliased)) return [{ path: at, field }]
    return flattenFields(is(field, Table) ? getTableColumns(field) : field, at)
  })
}

/**
 * The columns of a select, each under a name of its own. D1 returns a row as an object, so of two
 * columns with one name the first would be lost without an error.
 *
 * @throws for two columns with one name
 */
export function selectList(fields: FieldList): { path: string[]; field: SQL.Aliased }[] {
  const names = new Set<string>()
  return fields.map(({ path, field }) => {
    const name = nameOf(path, field)
    if (names.has(name)) throw new Error(`Two columns of one select are named "${name}".`)
    names.add(name)
    const expression = is(field, SQL.Aliased) ? field.sql : is(field, SQL) ? field : sql`${field}`
    return { path, field: new SQL.Aliased(expression, name) }
  })
}

const nameOf = (path: string[], field: FieldList[number]['field']): string =>
  is(field, SQL.Aliased) ? field.fieldAlias : path.join('.')

/**
 * Builds a row; the object of a joined table of which nothing was found is null, as drizzle types it.
 *
 * @param isAlwaysFound by table of a join, as drizzle keeps it
 */
export function readRow<Row>(
  fields: FieldList,
  raw: Record<string, unknown>,
  isAlwaysFound: Record<string, boolean> = {},
): Row {
  const row: Record<string, unknown> = {}
  const found = new Map<string, boolean>()
  for (const { path, field } of fields) {
    const value = raw[nameOf(path, field)] ?? null
    setAt(row, path, value === null ? null : decoderOf(field).mapFromDriverValue(value))
    const [name = ''] = path
    if (path.length > 1 && isMaybeMissing(field, isAlwaysFound)) {
      found.set(name, found.get(name) === true || value !== null)
    }
  }
  for (const [name, isFound] of found) if (!isFound) row[name] = null
  return row as Row
}

function setAt(row: Record<string, unknown>, path: string[], value: unknown): void {
  let node = row
  for (const name of path.slice(0, -1)) {
    node[name] ??= {}
    node = node[name] as Record<string, unknown>
  }
  node[path.at(-1) ?? ''] = value
}

const isMaybeMissing = (
  field: FieldList[number]['field'],
  isAlwaysFound: Record<string, boolean>,
): boolean => is(field, Column) && isAlwaysFound[getTableName(field.table)] === false

interface Decoder {
  mapFromDriverValue(value: unknown): unknown
}

function decoderOf(field: FieldList[number]['field']): Decoder {
  if (is(field, Column)) return field
  const expression = is(field, SQL.Aliased) ? field.sql : field
  return Reflect.get(expression, 'decoder') as Decoder
}

/** An expression that counts or adds up. */
export const number = (expression: SQL): SQL<number> => expression.mapWith(Number) as SQL<number>

/** A condition as a field. */
export const flag = (condition: SQL): SQL<boolean> =>
  condition.mapWith((value) => value === 1) as SQL<boolean>

/** A column or expression that an outer join or a subquery may leave empty. */
export function nullable<C extends Column>(column: C): SQL<C['_']['data'] | null>
export function nullable<Value>(expression: SQL<Value>): SQL<Value | null>
export function nullable(field: Column | SQL): SQL<unknown> {
  return is(field, Column) ? sql`${field}`.mapWith(field) : field
}
