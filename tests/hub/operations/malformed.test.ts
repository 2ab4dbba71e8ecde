import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { readFiles, writeFiles } from '../../../src/agents/storage/transfer'
import { sampleSize } from '../../support/sample'
import { createTestHub } from '../create-test-hub'
import { createTransferClient, readAgent, type Table } from './transfer-client'

const hub = createTestHub()
const { transfer } = hub.seen
/** What the objects of agents have; as `replaceTables`, this store refuses what is not JSON. */
const objects = new Map<string, string>()
beforeAll(() => {
  const refuse = (content: string) => (content.startsWith('{"tables"') ? null : 'no tables')
  transfer.checkObject = async (_agentId, content) => refuse(content)
  transfer.writeObject = async (agentId, content) => {
    if (refuse(content) === null) objects.set(agentId, content)
    return refuse(content)
  }
  transfer.readFiles = (after) => readFiles(env.FILES, after)
  transfer.writeFiles = (files) => writeFiles(env.FILES, files)
})

const { send, begin, end } = createTransferClient(hub)

/** Everything that a restore writes. */
async function readAll(tables: Table[]): Promise<string> {
  const rows = await env.DB.batch(
    tables.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`)),
  )
  const files = await env.FILES.list()
  const state = env.DB.prepare('SELECT kind, transfer, triggers FROM transfers')
  return JSON.stringify([
    rows.map(({ results }) => results),
    (await state.all()).results,
    files.objects.map(({ key, etag }) => [key, etag]),
    [...objects],
  ])
}

const scalar = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, '', 0, -1, 1e300, 'x'.repeat(2_000), '\0', '\uD800', '1', '{}'),
)
const json = fc.jsonValue({ maxDepth: 3 })

describe('a backup', () => {
  test('H19: cursors, tables and ids that no page gave are refused with the reason', async () => {
    const { id, tables } = await begin('/backup', { hold_seconds: 600 })
    const query = (fields: object) =>
      new URLSearchParams({ backup: id, ...fields } as Record<string, string>).toString()
    for (const { name, key } of tables) {
      for (const count of [0, 1, 2, 3, 4]) {
        const after = JSON.stringify(Array.from({ length: count }, () => 'a'))
        const { status, body } = await send('GET', `/backup/rows?${query({ table: name, after })}`)
        expect(status, `${name} ${after}`).toBe(count === key.length ? 200 : 400)
        if (status === 400) expect(JSON.stringify(body.details)).toMatch(/after/)
      }
    }
    const anyName = fc.oneof(
      fc.constantFrom(...tables.map(({ name }) => name)),
      fc.string(),
      scalar,
    )
    const after = fc.oneof(
      fc.array(scalar, { maxLength: 4 }).map((each) => JSON.stringify(each)),
      fc.json(),
      fc.string(),
    )
    await fc.assert(
      fc.asyncProperty(anyName, after, async (table, cursor) => {
        for (const path of ['rows', 'objects', 'files']) {
          const { status } = await send('GET', `/backup/${path}?${query({ table, after: cursor })}`)
          expect([200, 400], path).toContain(status)
        }
      }),
      { numRuns: sampleSize(25, 100) },
    )
    await end(id)
  })

  test('H19: the id of a backup that has not begun, or has ended, begins none', async () => {
    const { id } = await begin('/backup', { hold_seconds: 60 })
    await end(id)
    for (const backup of [id, 'made-up']) {
      expect((await send('POST', '/backup', { backup })).status).toBe(409)
    }
    expect((await send('POST', '/backup', { backup: '' })).status).toBe(400)
    expect((await send('GET', '/backup')).body.transfer).toBeNull()
    await fc.assert(
      fc.asyncProperty(json, async (body) => {
        const { status, body: begun } = await send('POST', '/backup', body)
        expect([200, 400, 409]).toContain(status)
        if (status === 200) await end(begun.backup)
      }),
      { numRuns: sampleSize(15, 40) },
    )
  })
})

describe('a restore', () => {
  let restore = ''
  let tables: Table[] = []
  let migrations: string[] = []

  /** Sends something; unless it is accepted, nothing has changed, and the answer says why. */
  async function isRefusedWhole(method: string, path: string, body: unknown): Promise<boolean> {
    const before = await readAll(tables)
    const answer = await send(method, path, body)
    if (answer.status === 200) return false
    expect([400, 409, 413], JSON.stringify([body, hub.seen.logged.at(-1)])).toContain(answer.status)
    expect(answer.body.error).toEqual(expect.any(String))
    expect(await readAll(tables)).toBe(before)
    return true
  }

  beforeAll(async () => {
    const begun = await begin('/backup', {})
    ;({ tables, migrations } = begun)
    await end(begun.id)
  })

  test('H19: nothing is written before the hub is empty', async () => {
    const { body } = await send('POST', '/restore', { migrations })
    expect(body.is_ready).toBe(false)
    restore = body.restore
    for (const [method, path, fields] of [
      ['PUT', '/restore/rows', { table: 'accounts', rows: [] }],
      ['PUT', '/restore/objects', { objects: [] }],
      ['PUT', '/restore/files', { files: [] }],
      ['POST', '/restore/complete', {}],
    ] as const) {
      expect((await send(method, path, { restore, ...fields })).status, path).toBe(409)
    }
  })

  test('H19: rows that a table does not take are refused with the reason', async () => {
    ;({ id: restore } = await begin('/restore', { migrations }))
    const width = (name: string) => tables.find((each) => each.name === name)?.columns.length ?? 0
    const row = (name: string, values: unknown[]) =>
      Array.from({ length: width(name) }, (_, at) => values[at] ?? null)
    for (const [table, rows, reason, isSecond] of [
      ['posts', [row('posts', [])], 'NOT NULL constraint failed: posts.id'],
      ['communities', [row('communities', ['x', 'a', 'b', 'c'])], 'datatype mismatch'],
      [
        'community_members',
        [row('community_members', ['a', 'b', 'member', 1])],
        'FOREIGN KEY constraint failed',
      ],
      ['posts', [[1]], 'a value for each column'],
      ['posts', [row('posts', [1])], 'refer to no rows of posts', true],
      ['transfers', [], 'no table transfers'],
      ['sqlite_master', [], 'no table sqlite_master'],
      ['search_index', [], 'no table search_index'],
    ] as const) {
      const body = { restore, table, rows, is_second_pass: isSecond ?? false }
      const before = await readAll(tables)
      const answer = await send('PUT', '/restore/rows', body)
      expect(
        [answer.status, answer.body.details?.[0].message],
        `${table} ${hub.seen.logged.at(-1)}`,
      ).toEqual([400, expect.stringContaining(reason)])
      expect(await readAll(tables)).toBe(before)
    }
  })

  test('H19: any rows, files and objects are taken or refused, never an internal error', async () => {
    const id = fc.oneof(
      { weight: 9, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.string() },
    )
    const rows = fc.constantFrom(...tables).chain(({ name, columns }) =>
      fc.record({
        table: fc.constant(name),
        rows: fc.array(fc.array(scalar, { minLength: columns.length, maxLength: columns.length }), {
          maxLength: 2,
        }),
        is_second_pass: fc.boolean(),
      }),
    )
    const file = fc.record({
      key: fc.oneof(fc.string(), scalar),
      body: fc.oneof(fc.base64String(), fc.string()),
      content_type: fc.oneof(fc.constantFrom(null, 'text/plain'), fc.string({ unit: 'binary' })),
      metadata: fc.dictionary(fc.string(), fc.string({ maxLength: 3_000 }), { maxKeys: 3 }),
    })
    const object = fc.record({ agent_id: scalar, content: fc.oneof(fc.string(), fc.json()) })
    const next = fc.record({
      table: fc.oneof(fc.constantFrom('accounts', 'posts', 'comments'), fc.string()),
      after: fc.oneof(fc.nat(), scalar),
    })
    const requests = fc.oneof(
      fc.tuple(fc.constant('PUT'), fc.constant('/restore/rows'), fc.oneof(rows, rows, json)),
      fc.tuple(
        fc.constant('PUT'),
        fc.constant('/restore/files'),
        fc.oneof(fc.record({ files: fc.array(file, { maxLength: 3 }) }), json),
      ),
      fc.tuple(
        fc.constant('PUT'),
        fc.constant('/restore/objects'),
        fc.oneof(fc.record({ objects: fc.array(object, { maxLength: 3 }) }), json),
      ),
      fc.tuple(fc.constant('POST'), fc.constant('/restore/complete'), fc.record({ next })),
      fc.tuple(
        fc.constant('POST'),
        fc.constant('/restore'),
        fc.oneof(fc.record({ migrations: fc.array(fc.string()) }), json),
      ),
    )
    let refused = 0
    await fc.assert(
      fc.asyncProperty(requests, id, async ([method, path, fields], other) => {
        const isObject = typeof fields === 'object' && fields !== null && !Array.isArray(fields)
        const body = isObject ? { ...fields, restore: other || restore } : fields
        if (await isRefusedWhole(method, path, body)) refused++
      }),
      { numRuns: sampleSize(60, 250) },
    )
    expect(refused).toBeGreaterThan(sampleSize(20, 100))
  })

  test('H19: of several objects one that is refused keeps out all of them', async () => {
    ;({ id: restore } = await begin('/restore', { migrations }))
    const account = tables.find(({ name }) => name === 'accounts')?.columns ?? []
    const agents = tables.find(({ name }) => name === 'agents')?.columns ?? []
    const fill = (columns: string[], values: Record<string, unknown>) =>
      columns.map((column) => values[column] ?? null)
    for (const [table, columns, values] of [
      [
        'accounts',
        account,
        {
          seq: 9,
          id: 'x',
          name: 'x',
          kind: 'agent',
          description: '',
          metadata: '{}',
          karma: 0,
          follower_count: 0,
          is_imported: 0,
          created_at: 0,
          role: 'guest',
          is_moderator: 0,
        },
      ],
      ['agents', agents, await readAgent()],
    ] as const) {
      const answer = await send('PUT', '/restore/rows', {
        restore,
        table,
        rows: [fill([...columns], values)],
      })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
    const good = { agent_id: 'x', content: '{"tables":[]}' }
    for (const bad of [
      { agent_id: 'x', content: '{}' },
      { ...good, agent_id: 'nobody' },
    ]) {
      expect(
        await isRefusedWhole('PUT', '/restore/objects', { restore, objects: [good, bad] }),
      ).toBe(true)
    }
    expect((await send('PUT', '/restore/objects', { restore, objects: [good] })).status).toBe(200)
  })

  test('H19: a completion that begins in the middle does not open the hub without its triggers', async () => {
    const count = async () =>
      env.DB.prepare(
        "SELECT count(*) AS n FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE 'hold_for_%'",
      ).first('n')
    expect(await count()).toBe(0)
    const body = { restore, next: { table: 'comments', after: 99 } }
    expect(await isRefusedWhole('POST', '/restore/complete', body)).toBe(true)
    let next: object | null = null
    do {
      const answer = await send('POST', '/restore/complete', { restore, next })
      expect(answer.status, hub.seen.logged.at(-1)).toBe(200)
      next = answer.body.next
    } while (next !== null)
    expect(await count()).toBeGreaterThan(5)
    await end(restore)
  })
})
