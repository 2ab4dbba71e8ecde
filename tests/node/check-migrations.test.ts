import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { root } from '../../scripts/local-state.mjs'

let checkout: string
const migration = (name: string) => join(checkout, 'migrations', name)
const table = (name: string) => `CREATE TABLE ${name} (id TEXT PRIMARY KEY);\n`

/** Runs the script of a checkout; returns its exit code and its messages. */
const check = (...args: string[]): Promise<{ code: number; text: string }> =>
  new Promise((resolve) => {
    const script = join(checkout, 'scripts/check-migrations.mjs')
    execFile(process.execPath, [script, ...args], (error, _out, text) =>
      resolve({ code: error ? Number(error.code) : 0, text }),
    )
  })

beforeEach(async () => {
  checkout = mkdtempSync(join(tmpdir(), 'rookery-checkout-'))
  for (const folder of ['scripts', 'migrations']) mkdirSync(join(checkout, folder))
  for (const script of ['check-migrations.mjs', 'local-state.mjs']) {
    cpSync(join(root, 'scripts', script), join(checkout, 'scripts', script))
  }
  writeFileSync(migration('frozen.json'), '{}')
  writeFileSync(migration('0001_first.sql'), table('first'))
  expect(await check('--freeze')).toEqual({ code: 0, text: '' })
})
afterEach(() => rmSync(checkout, { recursive: true, force: true }))

test('migrations: before the first release a migration may change, and is still checked', async () => {
  writeFileSync(migration('frozen.json'), '{ "0001_first.sql": null }')
  writeFileSync(migration('0001_first.sql'), table('other'))
  expect(await check()).toEqual({ code: 0, text: '' })
  writeFileSync(migration('0001_first.sql'), `/* why */ ${table('other')}`)
  expect((await check()).text).toContain('block comment')
})

test('migrations: a frozen migration passes, and a new one after it is frozen', async () => {
  expect(await check()).toEqual({ code: 0, text: '' })
  writeFileSync(migration('0002_second.sql'), table('second'))
  const added = await check()
  expect([added.code, added.text]).toEqual([1, expect.stringContaining('0002_second.sql: not')])
  expect((await check('--freeze')).code).toBe(0)
  expect((await check()).code).toBe(0)
})

test('migrations: a released migration that was changed, deleted or renamed fails, and stays frozen', async () => {
  const frozen = readFileSync(migration('frozen.json'), 'utf8')
  const breakages: [() => void, string][] = [
    [() => writeFileSync(migration('0001_first.sql'), table('other')), 'was changed'],
    [() => renameSync(migration('0001_first.sql'), migration('0001_other.sql')), 'was deleted'],
    [() => rmSync(migration('0001_other.sql')), 'was deleted'],
  ]
  for (const [breakIt, why] of breakages) {
    breakIt()
    for (const args of [[], ['--freeze']]) {
      const { code, text } = await check(...args)
      expect([code, text]).toEqual([1, expect.stringContaining(why)])
    }
    expect(readFileSync(migration('frozen.json'), 'utf8')).toBe(frozen)
  }
})

test.each([
  ['a line end of Windows', 'CREATE TABLE a (id TEXT);\r\n', 'CR line ends'],
  ['a quote in a comment', "-- the hub's own\nCREATE TABLE a (id TEXT);\n", 'in a comment'],
  ['a block comment', '/* a */ CREATE TABLE a (id TEXT);\n', 'block comment'],
  ['a name in brackets', 'CREATE TABLE [a] (id TEXT);\n', '[brackets]'],
  [
    'begin in a trigger',
    'CREATE TRIGGER t AFTER INSERT ON a\nbegin\n  SELECT 1;\nEND;\n',
    'BEGIN in capitals',
  ],
  [
    'CASE in a trigger',
    'CREATE TRIGGER t AFTER INSERT ON a\nBEGIN\n  SELECT CASE WHEN 1 THEN 2 END;\nEND;\n',
    'use iif()',
  ],
])('migrations: %s is refused and not frozen', async (_case, sql, why) => {
  writeFileSync(migration('0002_second.sql'), sql)
  const { code, text } = await check('--freeze')
  expect([code, text]).toEqual([1, expect.stringContaining(why)])
  expect(readFileSync(migration('frozen.json'), 'utf8')).not.toContain('0002')
})
