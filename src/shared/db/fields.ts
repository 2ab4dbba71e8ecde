import {
  Column,
  getTableColumns,
  getTableName,
  is,
  noopDecoder,
  SQL,
  sql,
  Table,
} from 'drizzle-orm'

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

/** Where one value of a row goes, and what it becomes. */
interface Cell {
  /** Its name in D1's answer. */
  name: string
  /** Names of the objects that it is in, from outside. */
  parents: readonly string[]
  key: string
  /** Null for a value that stays as D1 returns it. */
  decoder: Decoder | null
  /** The outermost of these objects, when it is null unless one of its values is found. */
  missable: string | null
}

/**
 * Returns a function that builds a row; the object of a joined table of which nothing was found is null, as
 * drizzle types it. What depends on the columns alone is found out once, not for each row.
 *
 * @param isAlwaysFound by table of a join, as drizzle keeps it
 */
export function createRowReader<Row>(
  fields: FieldList,
  isAlwaysFound: Record<string, boolean> = {},
): (raw: Record<string, unknown>) => Row {
  const cells = fields.map((each) => toCell(each, isAlwaysFound))
  const missables = [...new Set(cells.flatMap(({ missable }) => missable ?? []))]
  return (raw) => {
    const row: Record<string, unknown> = {}
    const found = new Set<string | null>()
    for (const cell of cells) {
      const value = raw[cell.name] ?? null
      putValue(row, cell, value)
      if (value !== null) found.add(cell.missable)
    }
    for (const name of missables) if (!found.has(name)) row[name] = null
    return row as Row
  }
}

function putValue(row: Record<string, unknown>, cell: Cell, value: unknown): void {
  const { parents, key, decoder } = cell
  const node = parents.length === 0 ? row : findNode(row, parents)
  node[key] = value === null || decoder === null ? value : decoder.mapFromDriverValue(value)
}

function toCell({ path, field }: FieldList[number], isAlwaysFound: Record<string, boolean>): Cell {
  const decoder = decoderOf(field)
  const isMaybeMissing =
    path.length > 1 && is(field, Column) && isAlwaysFound[getTableName(field.table)] === false
  return {
    name: nameOf(path, field),
    parents: path.slice(0, -1),
    key: path.at(-1) ?? '',
    decoder: identities.has(decoder.mapFromDriverValue) ? null : decoder,
    missable: isMaybeMissing ? (path[0] ?? null) : null,
  }
}

function findNode(row: Record<string, unknown>, parents: readonly string[]) {
  let node = row
  for (const name of parents) {
    node[name] ??= {}
    node = node[name] as Record<string, unknown>
  }
  return node
}

interface Decoder {
  mapFromDriverValue(value: unknown): unknown
}

/** What columns and expressions without a decoder of their own have. */
const identities = new Set<unknown>([
  Column.prototype.mapFromDriverValue,
  noopDecoder.mapFromDriverValue,
])

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
