import { env } from 'cloudflare:workers'
import { is, type SQL, Table } from 'drizzle-orm'
import {
  getTableConfig,
  SQLiteAsyncDialect,
  SQLiteColumn,
  type SQLiteTable,
} from 'drizzle-orm/sqlite-core'
import { describe, expect, test } from 'vitest'

const modules = import.meta.glob<Record<string, unknown>>(
  ['../../src/**/schema.ts', '../../src/hub/schema/*.ts'],
  { eager: true },
)
const tables = Object.values(modules)
  .flatMap((module) => Object.values(module))
  .filter((each): each is SQLiteTable => is(each, Table))
  .map((table) => getTableConfig(table))

const dialect = new SQLiteAsyncDialect()
const toText = (query: SQL): string =>
  normalize(dialect.sqlToQuery(query.inlineParams(), 'indexes').sql)
/** SQL text in one form: without quotes and the table's name before a column. */
const normalize = (text: string, table = ''): string =>
  text
    .replaceAll('"', '')
    .replaceAll(`${table}.`, '')
    .replace(/\s+/g, ' ')
    .replace(/^\((.*)\)$/, '$1')
    .trim()
    .toLowerCase()

const query = async <Row>(sql: string): Promise<Row[]> =>
  (await env.DB.prepare(sql).all<Row>()).results

/** What drizzle cannot declare: a full-text index, and what SQLite keeps for it. */
const isUndeclared = (name: string) => /^(search_index|sqlite_|_cf_|d1_migrations)/.test(name)

describe('the schemas are the migrated database', () => {
  test('every table is declared once', async () => {
    const rows = await query<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table'",
    )
    const migrated = rows.map(({ name }) => name).filter((name) => !isUndeclared(name))
    expect(
      tables
        .map(({ name }) => name)
        .filter((name) => !isUndeclared(name))
        .sort(),
    ).toEqual(migrated.sort())
  })

  test.each(tables.map((table) => [table.name, table] as const))('%s', async (name, table) => {
    if (isUndeclared(name)) return
    expect({ ...describeTable(table), indexes: describeIndexes(table) }).toEqual({
      ...(await readTable(name)),
      indexes: await readIndexes(name),
    })
  })

  test('a column that takes listed values alone declares the same values as its CHECK', async () => {
    const rows = await query<{ name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL",
    )
    const checked = rows.flatMap(({ name, sql }) =>
      [...sql.matchAll(/CHECK \(\s*"?(\w+)"? IN \(('[^)]*)\)\s*\)/g)].map(
        ([, column, list = '']) => [
          `${name}.${column}`,
          list
            .split(',')
            .map((value) => value.trim().replaceAll("'", ''))
            .sort(),
        ],
      ),
    )
    const declared = tables.flatMap((table) =>
      table.columns.flatMap((column): [string, string[]][] => {
        const values = column.enumValues?.map(String) ?? []
        return values.length === 0 ? [] : [[`${table.name}.${column.name}`, values.sort()]]
      }),
    )
    expect(checked.length).toBeGreaterThan(20)
    const listed = new Map(declared)
    const differing = (checked as [string, string[]][]).filter(
      ([column, values]) => listed.get(column)?.join() !== values.join(),
    )
    expect(differing.map(([column, values]) => [column, values, listed.get(column)])).toEqual([])
  })

  test('without rowid, collations, full-text search and triggers stand in the migrations alone', async () => {
    const rows = await query<{ type: string; name: string; sql: string }>(
      "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '%_fts_%'",
    )
    const named = (which: (row: { type: string; sql: string }) => boolean) =>
      rows
        .filter(which)
        .map(({ name }) => name)
        .filter((name) => !/^(search_index_|_cf_|d1_|sqlite_)/.test(name))
        .sort()
    expect({
      withoutRowid: named(({ type, sql }) => type === 'table' && /WITHOUT ROWID/i.test(sql)),
      collated: named(({ type, sql }) => type === 'table' && /COLLATE NOCASE/i.test(sql)),
      virtual: named(({ sql }) => /^CREATE VIRTUAL/i.test(sql)),
      triggers: named(({ type }) => type === 'trigger'),
    }).toMatchSnapshot()
  })
})

type TableConfig = (typeof tables)[number]

function describeTable(table: TableConfig) {
  const composite = table.primaryKeys[0]?.columns.map(({ name }) => name)
  const keys = composite ?? table.columns.filter(({ primary }) => primary).map(({ name }) => name)
  return {
    columns: Object.fromEntries(
      table.columns.map((column) => [
        column.name,
        {
          type: column.getSQLType().toUpperCase(),
          isNotNull: column.notNull,
          default: defaultOf(column),
        },
      ]),
    ),
    primaryKey: keys,
    unique: [
      ...table.columns.filter(({ isUnique }) => isUnique).map(({ name }) => name),
      ...table.uniqueConstraints.map(({ columns }) => columns.map(({ name }) => name).join()),
    ].sort(),
    foreignKeys: table.foreignKeys
      .map((key) => {
        const { columns, foreignColumns, foreignTable } = key.reference()
        return `${columns[0]?.name} -> ${getTableConfig(foreignTable).name}.${foreignColumns[0]?.name} ${key.onDelete ?? 'no action'}`
      })
      .sort(),
  }
}

/** A column's default as SQL writes it. */
function defaultOf(column: SQLiteColumn): string | null {
  if (column.default === undefined) return null
  const value = column.mapToDriverValue(column.default)
  return typeof value === 'string' ? `'${value}'` : String(value)
}

async function readTable(name: string) {
  const columns = await query<{
    name: string
    type: string
    notnull: number
    dflt_value: string | null
    pk: number
  }>(`SELECT * FROM pragma_table_info('${name}')`)
  const indexes = await query<{ name: string; origin: string }>(
    `SELECT name, origin FROM pragma_index_list('${name}') WHERE origin = 'u'`,
  )
  const unique = await Promise.all(
    indexes.map(async (index) =>
      (await query<{ name: string }>(`SELECT name FROM pragma_index_info('${index.name}')`))
        .map((row) => row.name)
        .join(),
    ),
  )
  const keys = await query<{ from: string; table: string; to: string; on_delete: string }>(
    `SELECT "from", "table", "to", on_delete FROM pragma_foreign_key_list('${name}')`,
  )
  const primary = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  return {
    columns: Object.fromEntries(
      columns.map((column) => [
        column.name,
        {
          type: column.type,
          // A primary key of one column is never null, although SQLite does not say so of TEXT.
          isNotNull: column.notnull === 1 || column.pk > 0,
          default: column.dflt_value,
        },
      ]),
    ),
    primaryKey: primary.map((column) => column.name),
    unique: unique.sort(),
    foreignKeys: keys
      .map((key) => `${key.from} -> ${key.table}.${key.to} ${key.on_delete.toLowerCase()}`)
      .sort(),
  }
}

function describeIndexes(table: TableConfig) {
  return Object.fromEntries(
    table.indexes.map(({ config }) => [
      config.name,
      {
        isUnique: config.unique,
        on: config.columns
          .map((column) => (is(column, SQLiteColumn) ? column.name : toText(column as SQL)))
          .join(', '),
        where: config.where ? toText(config.where) : null,
      },
    ]),
  )
}

async function readIndexes(name: string) {
  const rows = await query<{ name: string; sql: string }>(
    `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = '${name}' AND sql IS NOT NULL`,
  )
  return Object.fromEntries(
    rows.map(({ name: index, sql }) => {
      const text = normalize(sql, name)
      const match = /^create (unique )?index \S+ on \S+ \((.*?)\)(?: where (.*))?$/.exec(text)
      return [
        index,
        { isUnique: match?.[1] !== undefined, on: match?.[2] ?? '', where: match?.[3] ?? null },
      ]
    }),
  )
}
