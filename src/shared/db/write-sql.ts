import {
  Column,
  getTableColumns,
  is,
  Param,
  Placeholder,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { uuidV7 } from '../ids'

type Value = SQLWrapper | string | number | boolean | null

/** The columns of a table that a write sets, by their names in the schema. */
type Values<T extends SQLiteTable> = { readonly [Name in keyof T['$inferInsert']]?: Value }

/** A column's bare name, as the left side of `SET` and the list of `INSERT` want it. */
export const bare = (column: Column): SQL => sql`${sql.identifier(column.name)}`

const columnOf = (table: SQLiteTable, name: string): Column => {
  const column = (table as unknown as Record<string, Column | undefined>)[name]
  if (!is(column, Column)) throw new Error(`No column "${name}".`)
  return column
}

/** A plain value or a placeholder goes through the column's encoder: a boolean becomes 0 or 1. */
const encode = (column: Column, value: unknown): unknown =>
  value === null || (typeof value === 'object' && !is(value, Placeholder))
    ? value
    : new Param(value, column)

/**
 * `INSERT INTO table (columns) SELECT values rest`: a guarded insert.
 *
 * @param rest from `FROM` or `WHERE` on; may end with `ON CONFLICT`
 */
export function insertSelect<T extends SQLiteTable>(
  table: T,
  values: Values<T>,
  rest: SQL,
  { verb = 'INSERT', before }: { verb?: 'INSERT' | 'INSERT OR IGNORE'; before?: SQL } = {},
): SQL {
  const entries = Object.entries(values).map(([name, value]) => ({
    column: columnOf(table, name),
    value,
  }))
  const columns = sql.join(
    entries.map(({ column }) => bare(column)),
    sql`, `,
  )
  const selected = sql.join(
    entries.map(({ column, value }) => sql`${encode(column, value)}`),
    sql`, `,
  )
  return sql`${before ? sql`${before} ` : undefined}${sql.raw(verb)} INTO ${table} (${columns}) SELECT ${selected} ${rest}`
}

/**
 * `INSERT INTO table` of a whole row: a value for each column but those left out. A new column of the
 * table is inserted without a change here.
 */
export function insertRow<T extends SQLiteTable, Name extends keyof T['$inferSelect'] & string>(
  table: T,
  values: { readonly [Column in Exclude<keyof T['$inferSelect'], Name>]: Placeholder },
  except: readonly Name[],
): SQL {
  const columns = Object.entries(getTableColumns(table)).filter(
    ([name]) => !(except as readonly string[]).includes(name),
  )
  const names = sql.join(
    columns.map(([, column]) => bare(column)),
    sql`, `,
  )
  const row = sql.join(
    columns.map(([name, column]) => sql`${encode(column, Reflect.get(values, name))}`),
    sql`, `,
  )
  return sql`INSERT INTO ${table} (${names}) VALUES (${row})`
}

/**
 * `UPDATE table SET columns rest`: a guarded update, or one from other tables.
 *
 * @param rest from `FROM` or `WHERE` on
 */
export function updateSet<T extends SQLiteTable>(
  table: T,
  values: Values<T>,
  rest: SQL,
  before?: SQL,
): SQL {
  const sets = Object.entries(values).map(([name, value]) => {
    const column = columnOf(table, name)
    return sql`${bare(column)} = ${encode(column, value)}`
  })
  return sql`${before ? sql`${before} ` : undefined}UPDATE ${table} SET ${sql.join(sets, sql`, `)} ${rest}`
}

/** The assignments of `ON CONFLICT DO UPDATE SET` that add the new counts to the stored ones. */
export const addExcludedSql = (columns: Column[]): SQL =>
  sql.join(
    columns.map((column) => sql`${bare(column)} = ${column} + excluded.${bare(column)}`),
    sql`, `,
  )

/** Returns an id whose time part SQL copies into the ids that it creates. */
export const idAt = (now: number): string => uuidV7(now, new Uint8Array(10))

/** SQL of a new UUIDv7 with the time of the id `like`. */
export const newIdSql = (like: SQLWrapper): SQL =>
  sql`substr(${like}, 1, 15) || substr(lower(hex(randomblob(2))), 1, 3) ||
    '-a' || substr(lower(hex(randomblob(2))), 1, 3) || '-' || lower(hex(randomblob(6)))`
