import { env } from 'cloudflare:workers'
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { expect, test } from 'vitest'
import { run } from '../../../src/shared/db/batch'
import { compileSql, sharedTable } from '../../../src/shared/db/compile-sql'
import { createDb } from '../../../src/shared/db/db'
import { many, manySql, orm, type Params, prepare, write } from '../../../src/shared/db/statement'

const db = createDb(env.DB)

const numbers = (list: SQLWrapper): SQL =>
  sharedTable('numbers', 'n', list, () => sql`SELECT value FROM json_each(${list})`)
const isIn = (value: SQLWrapper, list: SQLWrapper): SQL =>
  sql`${value} IN (SELECT n FROM ${numbers(list)})`

test('expressions of one statement share a table: its query and its parameter stand there once', async () => {
  const count = prepare(({ list }: Params<{ list: string }>) =>
    manySql(
      { value: sql<number>`j.value` },
      sql`FROM json_each('[1, 2, 3]') j WHERE ${isIn(sql`j.value`, list)} AND ${isIn(sql`j.value + 1`, list)}`,
    ),
  )
  const statement = count({ list: '[2, 3]' })
  expect(statement.compile()).toEqual({
    sql:
      'WITH numbers (n) AS MATERIALIZED (SELECT value FROM json_each(?1)) SELECT j.value as value' +
      " FROM json_each('[1, 2, 3]') j WHERE j.value IN (SELECT n FROM numbers) AND j.value + 1 IN (SELECT n FROM numbers)",
    params: ['[2, 3]'],
  })
  expect(await run(db, statement)).toEqual([{ value: 2 }])
})

test('values that are bound at once share a table too, and other values have their own', async () => {
  const list = (value: string) => sql`${value}`
  const statement = manySql(
    { value: sql<number>`j.value` },
    sql`FROM json_each('[1, 2, 3]') j WHERE ${isIn(sql`j.value`, list('[1, 2]'))}
      AND ${isIn(sql`j.value`, list('[1, 2]'))} AND ${isIn(sql`j.value`, list('[2, 3]'))}`,
  )
  const { sql: compiled, params } = statement.compile()
  expect(params).toEqual(['[1, 2]', '[2, 3]'])
  expect(compiled).toMatch(/^WITH numbers \(n\) AS .* numbers_2 \(n\) AS /)
  expect(await run(db, statement)).toEqual([{ value: 2 }])
})

test('a shared table can read another, and stands before those that a statement begins with', async () => {
  const doubled = (list: SQLWrapper): SQL =>
    sharedTable('doubled', 'n', list, () => sql`SELECT n * 2 FROM ${numbers(list)}`)
  const statement = manySql(
    { value: sql<number>`up.n` },
    sql`FROM up WHERE n IN (SELECT n FROM ${doubled(sql`${'[1, 2]'}`)})`,
    sql`
      WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 9)`,
  )
  expect(statement.compile().sql).toMatch(
    /^WITH RECURSIVE numbers \(n\) AS .*, doubled \(n\) AS .*, up \(n\) AS /,
  )
  expect(await run(db, statement)).toEqual([{ value: 2 }, { value: 4 }])
})

test('writes share tables, and a value that is written into the text leaves them be', async () => {
  const things = sqliteTable('shared_things', {
    id: integer('id').primaryKey(),
    kind: text('kind'),
  })
  await db.d1.prepare('CREATE TABLE shared_things (id INTEGER PRIMARY KEY, kind TEXT)').run()
  await db.d1.prepare("INSERT INTO shared_things VALUES (1, 'a'), (2, 'a')").run()
  const isSecond = sql`${isIn(things.id, sql`${'[2]'}`)} AND ${things.kind} = ${'a'}`.inlineParams()
  await run(db, write(orm.update(things).set({ kind: 'b' }).where(isSecond)))
  expect(await run(db, many(orm.select().from(things)))).toEqual([
    { id: 1, kind: 'a' },
    { id: 2, kind: 'b' },
  ])
  await db.d1.prepare('DROP TABLE shared_things').run()
})

test('a shared table that depends on a row is refused: it would stand before its rows', () => {
  const t = sqliteTable('things', { list: text('list') })
  expect(() => compileSql(sql`SELECT 1 FROM ${t} WHERE ${isIn(sql`1`, t.list)}`)).toThrow(
    'cannot depend on things',
  )
})

test('names are quoted where SQLite needs it', () => {
  const t = alias(
    sqliteTable('order', { group: text('group'), plainName: text('plain_name') }),
    't',
  )
  expect(compileSql(sql`SELECT ${t.group}, ${t.plainName} FROM ${t}`).sql).toBe(
    'SELECT t."group", t.plain_name FROM t',
  )
})
