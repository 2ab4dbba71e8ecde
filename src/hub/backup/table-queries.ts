import { type SQL, sql } from 'drizzle-orm'
import { manySql, type Statement } from '../../shared/db/statement'
import type { ColumnRow, ReferenceRow } from './tables'

/**
 * Which tables are copied. Not the search index, which is built again, what the platform keeps, this transfer, who
 * watches now, which is noted during a transfer too, and sessions with other servers, which end with their runs.
 */
const isCopiedSql =
  sql.raw(`t.type = 'table' AND t.name NOT IN ('transfers', 'live_objects', 'remote_sessions') AND t.sql NOT LIKE 'CREATE VIRTUAL%'
  AND substr(t.name, 1, 12) <> 'search_index' AND substr(t.name, 1, 4) <> '_cf_'
  AND substr(t.name, 1, 7) <> 'sqlite_' AND t.name <> 'd1_migrations'`)

/** Tables first: of a table of the platform no column may be read. */
const copiedSql: SQL = sql`(SELECT name, sql FROM sqlite_master t WHERE ${isCopiedSql} LIMIT -1)`

const selectColumns = (): Statement<ColumnRow[]> =>
  manySql(
    {
      name: sql<string>`t.name`,
      sql: sql<string>`t.sql`,
      column: sql<string>`c.name`,
      type: sql<string>`c.type`,
      pk: sql<number>`c.pk`,
    },
    sql`FROM ${copiedSql} t JOIN pragma_table_info(t.name) c ORDER BY t.name, c.cid`,
  )

const selectReferences = (): Statement<ReferenceRow[]> =>
  manySql(
    {
      name: sql<string>`t.name`,
      column: sql<string>`f."from"`,
      parent: sql<string>`f."table"`,
    },
    sql`FROM ${copiedSql} t JOIN pragma_foreign_key_list(t.name) f`,
  )

/** Selects the names of the migrations that made the database, in order. */
const selectMigrations = (): Statement<{ name: string }[]> =>
  manySql({ name: sql<string>`name` }, sql`FROM d1_migrations ORDER BY name`)

export const tableStatements = () => ({
  columns: selectColumns(),
  references: selectReferences(),
  migrations: selectMigrations(),
})
