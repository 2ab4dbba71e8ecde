import { beforeAll, describe, expect, test } from 'vitest'
import { secretCharsMin } from '../../../src/mcp-servers/credentials/scrub'
import { postgresServer } from '../../../src/mcp-servers/servers/postgres'
import { connectService } from '../../support/external-services'
import { isWholeServer, login, testDatabase } from '../../support/postgres-login'
import { serviceUrl } from '../../support/services'
import { setUpTools } from '../../support/set-up-tools'
import { openDatabase, waitForServer } from './open-database'

const { answer, refusal, call, failures } = openDatabase()

beforeAll(waitForServer, 120_000)

describe('what goes wrong is an error that a model can read', () => {
  test.each([
    [
      'a syntax error',
      'SELECT * FRM x',
      [],
      /^Error: ERROR 42601: syntax error at or near "FRM"\. At character 10: FRM x$/,
    ],
    [
      'a table that is not there',
      'SELECT * FROM nothing',
      [],
      /42P01: relation "nothing" does not exist\. At character 15: nothing$/,
    ],
    [
      'a column, with a hint',
      'SELECT relnam FROM pg_class',
      [],
      /42703: .*Hint: .*pg_class\.relname/,
    ],
    [
      'a value of another type',
      'SELECT $1::int',
      ['x'],
      /22P02: invalid input syntax for type integer: "x"/,
    ],
    ['too few parameters', 'SELECT $1, $2', ['x'], /^Error: ERROR (08P01|42P18)/],
    ['a division', 'SELECT 1 / 0', [], /22012: division by zero/],
  ])('M14: %s', async (_what, sql, params, words) => {
    expect(await refusal('query', sql, { params })).toMatch(words)
  })

  test('M14: a NUL character would end the statement, and is refused', async () => {
    expect(await refusal('query', 'SELECT 1 \0 FROM x')).toContain(
      'sql: Must not contain a NUL character',
    )
  })

  test('M14: writing with query says what to use', async () => {
    const sql = 'SELECT * INTO x FROM pg_class'
    expect(await refusal('query', sql)).toMatch(/25006: This tool only reads.*postgres_execute/)
  })

  const elsewhere = new URL(serviceUrl)
  test.each([
    [
      'a wrong password',
      { credential: `${login.user}:not-the-password` },
      /did not accept its credential \(28P01\)\. An admin/,
    ],
    [
      'a closed port',
      { base: 'postgres://127.0.0.1:1/x?sslmode=disable' },
      /database could not be reached/,
    ],
    ['a server without TLS', { base: login.base }, /does not offer TLS/],
    [
      'a server of something else',
      { base: `postgres://${elsewhere.host}/x` },
      /does not offer TLS|could not be reached/,
    ],
    ['no credential', { credential: null }, /no credential of the form user:password/],
    [
      'a host in here',
      { base: login.base, allowPrivate: false },
      /127\.0\.0\.1 is not on the public internet/,
    ],
    [
      'a host in hexadecimal',
      { base: 'postgres://0x7f.1:5432/x', allowPrivate: false },
      /127\.0\.0\.1 is not on the/,
    ],
    [
      'a host in IPv6',
      { base: 'postgres://[::ffff:7f00:1]:5432/x', allowPrivate: false },
      /is not on the public internet/,
    ],
    [
      'a name of a host in here',
      { base: 'postgres://db.example.com/x', allowPrivate: false, addresses: ['10.0.0.7'] },
      /db\.example\.com has no public address/,
    ],
    [
      'clear text over the internet',
      { base: 'postgres://db.example.com/x?sslmode=disable', allowPrivate: false },
      /only a private database can be used without TLS/,
    ],
  ])('M13 M14: %s', async (_what, place, words) => {
    const other = openDatabase(place)
    expect(await other.refusal('query', 'SELECT 1')).toMatch(words)
    expect(await other.refusal('execute', 'SELECT 1')).toMatch(words)
  })
})

describe('the password', () => {
  test('M6: is in no answer, error or log, wherever it comes up', async () => {
    const { password } = login
    const name = `"${password.replaceAll('"', '""')}"`
    const params = [password]
    for (const [sql, given] of [
      ['SELECT $1::text', params],
      ['SELECT $1::int', params],
      [`SELECT ${name}`, []],
      [`SELECT 1 AS ${name}`, []],
      [`SELECT encode($1::text::bytea, 'base64'), encode($1::text::bytea, 'hex')`, params],
      [`SELECT json_build_object('a', $1::text)`, params],
      [`SELECT repeat('x', 3990) || $1 || 'y'`, params],
    ] as const) {
      const { text } = await call('query', { sql, params: given })
      expect(text, sql).toContain('[redacted]')
      expect(text).not.toContain(password.slice(0, 6))
    }
    const told = JSON.stringify(failures, (_key, value) =>
      value instanceof Error ? [value.message, value.stack, value.cause] : value,
    )
    expect(told).toContain('[redacted]')
    expect(told).not.toContain(password.slice(0, 6))
  })

  test('M5: a credential is user:password, and long enough to be kept out of answers', () => {
    const check = postgresServer.services?.checkCredential
    for (const wrong of [
      '',
      'user',
      'user:',
      ':password-of-it',
      `user:${'x'.repeat(secretCharsMin - 1)}`,
    ]) {
      expect(check?.(wrong), wrong).toContain('user:password')
    }
    expect(check?.('user:a:b:c:d:e:f')).toBe(null)
    expect(postgresServer.services?.secretParts?.('user:a:b:c:d:e:f')).toEqual(['a:b:c:d:e:f'])
  })
})

describe('where it is', () => {
  test('M13: an address says host and database, and nothing that is secret', () => {
    const check = (url: string) => postgresServer.services?.checkBaseUrl?.(new URL(url)) ?? null
    for (const right of [
      'postgres://db.example.com/main',
      'postgresql://db.example.com:6432/main?sslmode=require',
      'postgres://10.0.0.7/main?sslmode=disable',
      'hyperdrive:DATABASE',
    ]) {
      expect(check(right), right).toBe(null)
    }
    for (const [wrong, words] of [
      ['https://db.example.com/main', 'postgres://'],
      ['postgres://db.example.com', 'host:5432/dbname'],
      ['postgres:///main', 'host:5432/dbname'],
      ['postgres://db.example.com/a/b', 'host:5432/dbname'],
      ['postgres://db.example.com/%zz', 'host:5432/dbname'],
      ['postgres://u:p@db.example.com/main', 'user:password'],
      ['postgres://db.example.com/main?sslmode=prefer', 'sslmode'],
      ['postgres://db.example.com/main?options=-cx', 'sslmode'],
      ['postgres://db.example.com/main#x', 'sslmode'],
      ['hyperdrive:', 'hyperdrive:BINDING'],
      ['hyperdrive:a-b', 'hyperdrive:BINDING'],
    ] as const) {
      expect(check(wrong), wrong).toContain(words)
    }
  })

  test('M13: Hyperdrive gives the connection, and its password is kept out of answers too', async () => {
    const pooled = openDatabase({ base: 'hyperdrive:TEST_HYPERDRIVE', credential: null })
    const { rows } = await pooled.answer('query', 'SELECT current_user::text, $1::text', {
      params: [login.password],
    })
    expect(rows[0][1]).toBe('[redacted]')
    for (const binding of ['NOTHING', 'ROOKERY_ADMIN_KEY', 'DB', 'toString']) {
      const other = openDatabase({ base: `hyperdrive:${binding}`, credential: null })
      expect(await other.refusal('query', 'SELECT 1')).toContain(`no Hyperdrive binding ${binding}`)
    }
  })

  test('M5 M6: declared and kept as an admin does it, it is opened with its credential', async () => {
    const { baseUrl, credential } = testDatabase
    const declared = { server: 'postgres', service: 'kept', baseUrl }
    const tools = setUpTools({}, await connectService({ ...declared, credential }))
    const ask = (params: string[]) =>
      tools.answer('postgres_query', { database: 'kept', sql: 'SELECT $1::text', params })
    expect((await ask(['a word'])).rows).toEqual([['a word']])
    for (const secret of [login.password, credential, credential.replaceAll('"', '""')]) {
      expect(JSON.stringify(await ask([secret]))).not.toContain(login.password.slice(0, 6))
    }
    await expect(connectService({ ...declared, credential: 'no-colon-in-it' })).rejects.toThrow()
    await expect(
      connectService({ ...declared, baseUrl: 'postgres://a:b@db.example.com/x', credential }),
    ).rejects.toThrow()
  })

  test('M14: it works again after all of that', async () => {
    expect((await answer('query', 'SELECT 1')).rows).toEqual([[1]])
  })

  test.runIf(isWholeServer)('M13: no connection is left open', async () => {
    const sql = `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'rookery'`
    await expect.poll(async () => (await answer('query', sql)).rows).toEqual([[1]])
  })
})
