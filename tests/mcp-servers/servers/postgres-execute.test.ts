import { beforeAll, beforeEach, expect, test } from 'vitest'
import { isWholeServer } from '../../support/postgres-login'
import { openDatabase, waitForServer } from './open-database'

const { answer, refusal, call } = openDatabase()

beforeAll(waitForServer, 120_000)

beforeEach(async () => {
  await answer('execute', 'DROP TABLE IF EXISTS owls')
  await answer('execute', 'CREATE TABLE owls (id int PRIMARY KEY, name text)')
  await answer('execute', `INSERT INTO owls VALUES (1, 'barn'), (2, 'snowy'), (3, 'tawny')`)
})

const names = async () =>
  (await answer('query', 'SELECT name FROM owls ORDER BY id')).rows.flat().join(' ')

test('M1: it tells what it did, and how many rows it touched', async () => {
  for (const [sql, command, affected] of [
    [`INSERT INTO owls VALUES (4, 'eagle'), (5, 'little')`, 'INSERT', 2],
    [`UPDATE owls SET name = upper(name) WHERE id < 3`, 'UPDATE', 2],
    ['DELETE FROM owls WHERE id > 3', 'DELETE', 2],
    ['DELETE FROM owls WHERE id > 9', 'DELETE', 0],
    ['ALTER TABLE owls ADD COLUMN size int', 'ALTER TABLE', 0],
  ]) {
    expect(await answer('execute', sql as string)).toEqual({ command, affected })
  }
  expect(await names()).toBe('BARN SNOWY tawny')
})

test('M1: values come in as parameters', async () => {
  const sql = 'UPDATE owls SET name = $1 WHERE id = $2'
  await answer('execute', sql, { params: [`o'"\\wl; --`, 2] })
  expect(await names()).toBe(`barn o'"\\wl; -- tawny`)
})

test('M10: of what it returns the first rows are answered, all are counted and all are done', async () => {
  const done = await answer(
    'execute',
    `INSERT INTO owls SELECT x, 'n' || x FROM generate_series(10, 2009) x RETURNING id`,
    { limit: 2 },
  )
  expect(done).toMatchObject({
    command: 'INSERT',
    affected: 2000,
    columns: ['id'],
    rows: [[10], [11]],
  })
  expect((await answer('query', 'SELECT count(*)::int FROM owls')).rows).toEqual([[2003]])
})

test('M10: when it returns more than a Worker can hold, nothing is done', async () => {
  const sql = `UPDATE owls SET name = repeat('x', 4000000) RETURNING name`
  expect(await refusal('execute', sql)).toMatch(
    /larger than 8 MiB, so the transaction was rolled back/,
  )
  expect(await names()).toBe('barn snowy tawny')
})

test('M14: a statement that fails has done nothing, and says why', async () => {
  const sql = `INSERT INTO owls SELECT x, 'new' FROM generate_series(9, 3, -1) x`
  expect(await refusal('execute', sql)).toBe(
    'Error: ERROR 23505: duplicate key value violates unique constraint "owls_pkey". Key (id)=(3) already exists.',
  )
  expect(await names()).toBe('barn snowy tawny')
})

test('M14: one statement a call, and the transaction is the hub’s', async () => {
  expect(await refusal('execute', 'DELETE FROM owls; DROP TABLE owls')).toContain('42601')
  for (const word of [
    'BEGIN',
    'COMMIT',
    'rollback',
    'END',
    'SET role x',
    'COPY owls FROM STDIN',
    '',
  ]) {
    const [first = ''] = word.toUpperCase().split(' ')
    expect(await refusal('execute', `${word} --`)).toContain(
      first === '' ? 'The statement is empty' : `does not run ${first} statements`,
    )
  }
  expect(await refusal('execute', 'DO $$ BEGIN DELETE FROM owls; COMMIT; END $$')).toMatch(/2D000/)
  expect(await names()).toBe('barn snowy tawny')
})

test.runIf(isWholeServer)(
  'M14: a lost connection is told as unclear, and nothing runs again',
  async () => {
    await answer('execute', 'DROP SEQUENCE IF EXISTS tries')
    await answer('execute', 'CREATE SEQUENCE tries')
    // a sequence keeps its count, whatever becomes of the transaction
    const sql = `SELECT nextval('tries'), pg_terminate_backend(pg_backend_pid())`
    expect(await refusal('execute', sql)).toMatch(/57P01|check before you repeat it/)
    expect((await answer('query', 'SELECT last_value, is_called FROM tries')).rows).toEqual([
      ['1', true],
    ])
  },
)

test.runIf(isWholeServer)(
  'L34: a statement that is cancelled is stopped in the database too',
  async () => {
    const stop = new AbortController()
    const sql = `UPDATE owls SET name = pg_sleep(15)::text || 'slept'`
    const running = call('execute', { sql }, stop.signal)
    const countRunning = async () =>
      (
        await answer(
          'query',
          `SELECT count(*)::int FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'UPDATE owls SET name = pg_sleep%'`,
        )
      ).rows[0][0]
    await expect.poll(countRunning).toBe(1)
    stop.abort()
    expect((await running).text).toContain('was cancelled')
    await expect.poll(countRunning).toBe(0)
    expect(await names()).toBe('barn snowy tawny')
  },
)
