import { beforeAll, describe, expect, test } from 'vitest'
import { firstWord } from '../../../src/mcp-servers/servers/postgres'
import { postgresLimits } from '../../../src/shared/config'
import { isWholeServer, login } from '../../support/postgres-login'
import { openDatabase, waitForServer } from './open-database'

const { answer, refusal, call } = openDatabase()

beforeAll(async () => {
  await waitForServer()
  for (const sql of [
    'DROP TABLE IF EXISTS herons, stolen, copied CASCADE',
    'DROP SEQUENCE IF EXISTS eggs',
    'CREATE TABLE herons (id int PRIMARY KEY, name text)',
    `INSERT INTO herons VALUES (1, 'grey'), (2, 'purple')`,
    'CREATE SEQUENCE eggs',
    `CREATE OR REPLACE FUNCTION hatch() RETURNS int LANGUAGE plpgsql AS
       $$ BEGIN INSERT INTO herons VALUES (3, 'new'); RETURN 1; END $$`,
    `CREATE OR REPLACE FUNCTION unlock() RETURNS int LANGUAGE plpgsql IMMUTABLE AS
       $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true); RETURN 1; END $$`,
  ]) {
    await answer('execute', sql)
  }
})

describe('what comes back', () => {
  test('M1: columns and rows, each type so that nothing is lost', async () => {
    const { columns, rows } = await answer(
      'query',
      `SELECT 7::int, 9007199254740993::bigint, 0.10::numeric, 'NaN'::float8, true, NULL,
         '{"a":[1,"x"]}'::jsonb, '{"big":9007199254740993}'::jsonb AS big, '\\xdead'::bytea,
         '2026-01-02 03:04:05.678901+00'::timestamptz AT TIME ZONE 'UTC', '2026-01-02'::date, ARRAY['a','b']`,
    )
    expect(columns.slice(0, 3)).toEqual(['int4', 'int8', 'numeric'])
    expect(rows).toEqual([
      [
        7,
        '9007199254740993',
        '0.10',
        'NaN',
        true,
        null,
        { a: [1, 'x'] },
        '{"big": 9007199254740993}',
        '\\xdead',
        '2026-01-02 03:04:05.678901',
        '2026-01-02',
        '{a,b}',
      ],
    ])
  })

  test('M1: parameters are values, whatever is in them', async () => {
    const odd = `'; DROP TABLE herons; --`
    const { rows } = await answer(
      'query',
      'SELECT $1::text, $2::int, $3::bool, $4::jsonb, $5::text',
      {
        params: [odd, 7, true, '{"a":1}', null],
      },
    )
    expect(rows).toEqual([[odd, 7, true, { a: 1 }, null]])
    const found = await answer('query', 'SELECT name FROM herons WHERE id = $1', { params: [2] })
    expect(found).toEqual({ columns: ['name'], rows: [['purple']], row_count: 1 })
  })

  test('M1: two columns of one name are both there, and so are the columns of no rows', async () => {
    expect(await answer('query', 'SELECT 1 AS a, 2 AS a')).toMatchObject({
      columns: ['a', 'a'],
      rows: [[1, 2]],
    })
    expect(await answer('query', 'SELECT id FROM herons WHERE false')).toEqual({
      columns: ['id'],
      rows: [],
      row_count: 0,
    })
  })

  test('M10: rows are limited, and it says that there are more', async () => {
    const many = 'SELECT x FROM generate_series(1, 5000) x'
    const first = await answer('query', many)
    expect(first.row_count).toBe(100)
    expect(first.note).toMatch(/more rows; .* first 100\.$/)
    expect((await answer('query', many, { limit: 1000 })).row_count).toBe(1000)
    expect(await refusal('query', many, { limit: 1001 })).toContain('limit')
    expect(
      (await answer('query', 'SELECT x FROM generate_series(1, 3) x', { limit: 3 })).note,
    ).toBe(undefined)
  })

  test('M10: so are characters, of all rows and of one value', async () => {
    const wide = await answer('query', `SELECT repeat('x', 3000) FROM generate_series(1, 50)`)
    expect(wide.row_count).toBe(13)
    expect(wide.note).toContain('the first 13')
    const long = await answer('query', `SELECT repeat('y', 100000)`)
    expect(long.rows[0][0]).toMatch(/^y{4000}… \[truncated: 100000 characters\]$/)
  })

  test('M10: an answer that a Worker cannot hold is not read to its end', async () => {
    const refused = await refusal('query', `SELECT repeat('z', 9000000)`)
    expect(refused).toContain('larger than 8 MiB')
  })

  test('M13: it has limits of time, and is read-only, within its transaction', async () => {
    const settings = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
    const { rows } = await answer('query', 'SELECT setting FROM pg_settings WHERE name = ANY($1)', {
      params: [`{${settings.join()},transaction_read_only}`],
    })
    expect(rows.flat().sort()).toEqual(['20000', '20000', '5000', 'on'])
  })

  test.runIf(isWholeServer)('M13: the server stops what takes too long, undone', async () => {
    const before = await readAll()
    const late = `WITH x AS (INSERT INTO herons VALUES (9, 'late')) SELECT pg_sleep(60)`
    const { statementMs } = postgresLimits
    Reflect.set(postgresLimits, 'statementMs', 200)
    try {
      for (const [tool, sql] of [
        ['query', 'SELECT pg_sleep(60)'] as const,
        ['execute', late] as const,
      ]) {
        expect(await refusal(tool, sql)).toContain(
          '57014: The statement was stopped after 0.2 s. Request less',
        )
      }
    } finally {
      Reflect.set(postgresLimits, 'statementMs', statementMs)
    }
    expect(await readAll()).toEqual(before)
  })
})

/** All that could have been written. */
const readAll = () =>
  answer(
    'query',
    `SELECT (SELECT json_agg(h ORDER BY id)::text FROM herons h), (SELECT last_value FROM eggs),
       (SELECT count(*) FROM pg_class WHERE relname IN ('stolen', 'copied')),
       (SELECT count(*) FROM pg_largeobject_metadata), current_setting('default_transaction_read_only')`,
  )

const attempts: [string, string, RegExp][] = [
  ['an INSERT', `INSERT INTO herons VALUES (3, 'x')`, /runs SELECT/],
  [
    'an INSERT in a WITH',
    `WITH x AS (INSERT INTO herons VALUES (3, 'x') RETURNING id) SELECT * FROM x`,
    /25006/,
  ],
  ['a DELETE in a WITH', 'WITH x AS (DELETE FROM herons RETURNING id) SELECT * FROM x', /25006/],
  ['EXPLAIN ANALYZE', 'EXPLAIN ANALYZE DELETE FROM herons', /25006/],
  ['SELECT INTO', 'SELECT * INTO stolen FROM herons', /25006/],
  ['a row lock', 'SELECT * FROM herons FOR UPDATE', /25006/],
  ['a sequence', `SELECT nextval('eggs')`, /25006/],
  ['a function that writes', 'SELECT hatch()', /25006/],
  ['a function that unlocks', 'SELECT unlock(), hatch()', /ERROR \w{5}: |25006/],
  [
    'set_config',
    `SELECT set_config('transaction_read_only', 'off', true), hatch()`,
    /ERROR 25001|25006/,
  ],
  ['a second statement', `SELECT 1; INSERT INTO herons VALUES (3, 'x')`, /42601/],
  ['COMMIT first', `COMMIT; INSERT INTO herons VALUES (3, 'x')`, /runs SELECT/],
  ['a comment before it', `/* select */ INSERT INTO herons VALUES (3, 'x')`, /runs SELECT/],
  ['a nested comment', `/* /* */ SELECT 1 */ DELETE FROM herons`, /runs SELECT/],
  ['a line that ends oddly', `--\rDELETE FROM herons`, /runs SELECT/],
  ['SET TRANSACTION', 'SET TRANSACTION READ WRITE', /runs SELECT/],
  ['SET SESSION', 'SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE', /runs SELECT/],
  ['DO', `DO $$ BEGIN INSERT INTO herons VALUES (3, 'x'); END $$`, /runs SELECT/],
  ['COPY FROM', 'COPY herons FROM STDIN', /runs SELECT/],
  ['COPY to a program', `COPY (SELECT 1) TO PROGRAM 'touch /tmp/B-stolen'`, /runs SELECT/],
  ['CREATE TABLE AS', 'CREATE TABLE copied AS SELECT * FROM herons', /runs SELECT/],
  [
    'XML of a statement',
    `SELECT query_to_xml('DELETE FROM herons', true, true, '')`,
    /25006|0A000/,
  ],
]

describe('ways to write with query', () => {
  test.each(attempts)('M2: %s writes nothing', async (_what, sql, why) => {
    const before = await readAll()
    expect(await refusal('query', sql)).toMatch(why)
    expect(await readAll()).toEqual(before)
  })

  test('M2: what a read-only transaction lets through is rolled back', async () => {
    const before = await readAll()
    // what they are depends on the version: a table, a large object, a setting of the session
    await call('query', { sql: 'EXPLAIN ANALYZE CREATE TABLE copied AS SELECT 1' })
    await call('query', { sql: `SELECT set_config('default_transaction_read_only', 'on', false)` })
    await call('query', { sql: 'SELECT lo_create(0)' })
    expect(await readAll()).toEqual(before)
  })

  test.runIf(isWholeServer)('M2: a message to listeners is not sent', async () => {
    await answer('query', `SELECT pg_notify('herons', 'x')`)
    expect((await answer('query', 'SELECT pg_notification_queue_usage()')).rows).toEqual([[0]])
  })

  test('M2: statements that only read are let through, however they begin', async () => {
    for (const sql of [
      '  ((SELECT 1))',
      '-- first\n/* second /* third */ */ select 1',
      'WITH x AS (SELECT 1) SELECT * FROM x',
      'VALUES (1)',
      'TABLE herons',
      'SHOW search_path',
      'EXPLAIN SELECT * FROM herons',
    ]) {
      expect((await answer('query', sql)).row_count, sql).toBeGreaterThan(0)
    }
  })

  test('M2: the first word is read as PostgreSQL reads it', () => {
    for (const [sql, word] of [
      ['', ''],
      ['--', ''],
      ['/* never ends', ''],
      ['/*/ SELECT 1', ''],
      ['\u00a0SELECT 1', ''],
      ['"select" 1', ''],
      ['selectx', 'selectx'],
      ['\t\v\f\r\n(SeLeCt', 'select'],
      ['/**/DROP/**/', 'drop'],
    ] as const) {
      expect(firstWord(sql), sql).toBe(word)
    }
  })
})

describe('grants', () => {
  test('M2: each database has its own, and reading does not give writing', async () => {
    const { call: ask } = openDatabase({ allowed: ['postgres:main:read'] })
    expect((await ask('query', { sql: 'SELECT 1' })).isError).toBe(false)
    for (const [tool, database, grant] of [
      ['query', 'other', 'postgres:other:read'],
      ['execute', 'main', 'postgres:main:write'],
    ] as const) {
      const { text } = await ask(tool, { sql: 'SELECT 1', database })
      expect(text).toMatch(new RegExp(`^Error: Missing grant ${grant}\\b`))
    }
  })

  test('M6: no answer holds the password', async () => {
    const { rows } = await answer('query', 'SELECT $1::text', { params: [login.password] })
    expect(rows).toEqual([['[redacted]']])
  })
})
