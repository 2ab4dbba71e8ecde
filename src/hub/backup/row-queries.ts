import { type SQL, sql } from 'drizzle-orm'
import { manySql, mapStatement, oneSql, type Statement, write } from '../../shared/db/statement'
import { unfiltered } from '../communities/readable-sql'
import type { CopiedTable } from './tables'

/** A value of a column; no table that is copied has bytes. */
export type Value = string | number | null

const column = (name: string): SQL => sql`${sql.identifier(name)}`
const list = (parts: SQL[]): SQL => sql.join(parts, sql`, `)
const columns = (names: string[]): SQL => list(names.map(column))
const tuple = (parts: SQL[]): SQL => (parts.length === 1 ? list(parts) : sql`(${list(parts)})`)

/** About the characters of a row. */
const sizeSql = (names: string[]): SQL =>
  sql.join(
    names.map((name) => sql`coalesce(length(${column(name)}), 4)`),
    sql` + `,
  )

/**
 * Selects rows of a table in the order of its key, the values in the order of its columns.
 *
 * @param after key of the last row before them; null for the first page
 * @param limits of the page; it has at least one row when there is one
 */
export function selectRows(
  table: CopiedTable,
  after: Value[] | null,
  limits: { rows: number; chars: number },
): Statement<Value[][]> {
  const names = table.columns
  const fields = Object.fromEntries(
    names.map((name, at) => [`c${at}`, sql<Value>`${column(name)}`] as const),
  )
  const begin = after
    ? sql`WHERE ${tuple(table.key.map(column))} > ${tuple(after.map((value) => sql`${value}`))}`
    : sql``
  const own = sql.join(
    names.map((name) => sql`${column(name)} AS ${column(name)}`),
    sql`, `,
  )
  const statement = manySql(
    fields,
    sql`FROM (SELECT *, sum(transfer_chars) OVER (ORDER BY ${columns(table.key)} ROWS UNBOUNDED PRECEDING)
          - transfer_chars AS transfer_before
        FROM (SELECT ${own}, ${sizeSql(names)} AS transfer_chars
          FROM ${column(table.name)} ${begin} ORDER BY ${columns(table.key)} LIMIT ${limits.rows}))
      WHERE transfer_before < ${limits.chars} ORDER BY ${columns(table.key)} ${unfiltered('backup')}`,
  )
  return mapStatement(statement, (rows) =>
    rows.map((row) => names.map((_, at) => row[`c${at}`] ?? null)),
  )
}

const valueAt = (at: number): SQL => sql`json_extract(value, ${sql.raw(`'$[${at}]'`)})`

/** Inserts rows. Those that exist are replaced, so that a request can be repeated. */
export const insertRows = ({ name, columns: names, own }: CopiedTable, rows: Value[][]) =>
  write(sql`INSERT OR REPLACE INTO ${column(name)} (${columns(names)})
    SELECT ${list(names.map((each, at) => (own.includes(each) ? sql`NULL` : valueAt(at))))}
    FROM json_each(${JSON.stringify(rows)})`)

/** Sets the columns that refer to rows of the same table, once all rows are there. */
export const updateOwn = ({ name, columns: names, key, own }: CopiedTable, rows: Value[][]) => {
  const at = (each: string) => valueAt(names.indexOf(each))
  return write(sql`UPDATE ${column(name)}
    SET ${list(own.map((each) => sql`${column(each)} = ${column(`new_${each}`)}`))}
    FROM (SELECT ${at(key[0] ?? '')} AS transfer_key, ${list(own.map((each) => sql`${at(each)} AS ${column(`new_${each}`)}`))}
      FROM json_each(${JSON.stringify(rows)}))
    WHERE ${column(name)}.${column(key[0] ?? '')} = transfer_key`)
}

/** Accounts that the migrations create, and the admin key belongs to. Those of the backup replace them. */
const fixedAccounts = sql.raw(
  `'00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'`,
)

/** Deletes what a hub has before anybody used it. */
export const deleteRows = ({ name }: CopiedTable): Statement<void> =>
  write(
    name === 'accounts'
      ? sql`DELETE FROM accounts WHERE id NOT IN (${fixedAccounts})`
      : sql`DELETE FROM ${column(name)} ${unfiltered('backup')}`,
  )

/**
 * Statements around the deletion of comments. Deleting one looks for its replies, which have no index: without
 * this one 100,000 comments would be read 100,000 times.
 */
export const indexReplies = (): Statement<void> =>
  write(sql`CREATE INDEX IF NOT EXISTS replies_while_emptying ON comments (parent_id)`)
export const dropReplyIndex = (): Statement<void> => write(sql`DROP INDEX replies_while_emptying`)

/**
 * Selects whether anybody has used the hub: what the migrations, the loading of definitions and a first sign-in
 * write does not count.
 */
export const selectIsUsed = (): Statement<boolean> =>
  mapStatement(
    oneSql(
      {
        isUsed: sql<number>`EXISTS (SELECT 1 FROM posts) OR EXISTS (SELECT 1 FROM comments)
          OR EXISTS (SELECT 1 FROM activations) OR EXISTS (SELECT 1 FROM conversations)
          OR EXISTS (SELECT 1 FROM accounts WHERE id NOT IN (${fixedAccounts})
            AND id NOT IN (SELECT account_id FROM agents))`,
      },
      sql`${unfiltered('backup')}`,
    ),
    (row) => Boolean(row?.isUsed),
  )

/** Empties the search index, which then counts as if nothing had ever been in it. */
export const clearIndex = (): Statement<void> =>
  write(sql`INSERT INTO search_index (search_index) VALUES ('delete-all')`)

/** Tables of the search index: the key, and the column whose update indexes a row again. */
const indexed = {
  accounts: 'display_name',
  communities: 'display_name',
  posts: 'title',
  comments: 'content',
} as const

export type IndexedTable = keyof typeof indexed
export const indexedTables = Object.keys(indexed) as IndexedTable[]

const nextSeqs = (table: IndexedTable, after: number, rows: number): SQL =>
  sql`SELECT seq FROM ${column(table)} WHERE seq > ${after} ORDER BY seq LIMIT ${rows}`

/** Selects the last of the next rows to index; null when there are none. */
export const selectLastToIndex = (table: IndexedTable, after: number, rows: number) =>
  mapStatement(
    oneSql(
      { last: sql<number | null>`max(seq)` },
      sql`FROM (${nextSeqs(table, after, rows)}) ${unfiltered('backup')}`,
    ),
    (row) => row?.last ?? null,
  )

/** Has the triggers of a table index its next rows. */
export const indexRows = (table: IndexedTable, after: number, rows: number): Statement<void> => {
  const name = column(indexed[table])
  return write(sql`UPDATE ${column(table)} SET ${name} = ${name}
    WHERE seq IN (${nextSeqs(table, after, rows)}) ${unfiltered('backup')}`)
}
