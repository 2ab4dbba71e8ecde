/** A table of an agent's object. */
interface ObjectTable {
  name: string
  /** The statement that creates it. */
  sql: string
  columns: string[]
  rows: SqlStorageValue[][]
}

interface ObjectContent {
  tables: ObjectTable[]
  /** Statements that create the indexes. */
  indexes: string[]
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** SQLite creates this table itself, for tables with AUTOINCREMENT. */
const sequences = 'sqlite_sequence'

const schemaSql = `SELECT type, name, sql FROM sqlite_master
  WHERE type IN ('table', 'index') AND substr(name, 1, 4) <> '_cf_'
    AND (sql IS NOT NULL) ORDER BY type DESC, name`

/** Returns all tables as JSON. Nothing comes between the reads, so they are of one moment. */
export function readTables(sql: SqlStorage): string {
  const schema = sql.exec<{ type: string; name: string; sql: string }>(schemaSql).toArray()
  const tables = schema
    .filter(({ type }) => type === 'table')
    .map((table): ObjectTable => {
      const cursor = sql.exec(`SELECT * FROM ${quote(table.name)}`)
      return {
        name: table.name,
        sql: table.sql,
        columns: cursor.columnNames,
        rows: [...cursor.raw()],
      }
    })
  const indexes = schema.filter(({ type }) => type === 'index').map((index) => index.sql)
  return JSON.stringify({ tables, indexes } satisfies ObjectContent)
}

/**
 * Replaces all tables by those that `readTables` returned.
 *
 * @throws when the result is not the same
 */
export function writeTables(sql: SqlStorage, content: string): void {
  const { tables, indexes }: ObjectContent = JSON.parse(content)
  const existing = sql.exec<{ type: string; name: string }>(schemaSql).toArray()
  for (const { type, name } of existing) {
    if (type === 'table' && name !== sequences) sql.exec(`DROP TABLE ${quote(name)}`)
  }
  for (const table of tables) if (table.name !== sequences) sql.exec(table.sql)
  for (const table of tables) writeTable(sql, table)
  for (const index of indexes) sql.exec(index)
  if (readTables(sql) !== content) throw new Error('The tables are not those that were read.')
}

function writeTable(sql: SqlStorage, { name, columns, rows }: ObjectTable): void {
  if (name === sequences) sql.exec(`DELETE FROM ${sequences}`)
  const insert = `INSERT INTO ${quote(name)} (${columns.map(quote).join()})
    VALUES (${columns.map(() => '?').join()})`
  for (const row of rows) sql.exec(insert, ...row)
}
