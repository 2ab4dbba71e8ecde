import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { apiBase } from '../../../src/hub/http/mount-routes'
import { readCost } from '../create-test-hub'
import { apiTable } from './api-table'
import { type Row, readName, type Table } from './cells'
import { createWorld, type World } from './create-world'
import { moduleTable } from './module-table'
import { pageTable } from './page-table'

let world: World
beforeAll(async () => {
  world = await createWorld()
})

/** A preview writes nothing, and neither does a welcome to a hub with posts. */
const isWrite = (name: string) => !/^(GET|HEAD) |\((preview|used hub)\)$/.test(name)
/** What only admins write, and what they write to things of others; not what is refused even to them. */
const isOfAdmins = ([name, { expect: group, except }]: [string, Row]) =>
  isWrite(name) &&
  (group === 'admin' || group === 'ownerOrAdminWrite') &&
  typeof except?.admin !== 'number'

const countEntries = async () =>
  (await env.DB.prepare('SELECT count(*) AS n FROM admin_log').first<number>('n')) ?? 0

async function send(name: string, row: Row, kind: 'api' | 'module' | 'page'): Promise<Response> {
  const { method, path } = readName(name)
  const sent = (await row.send?.(world, 'admin')) ?? {}
  const url = `http://hub.test${kind === 'page' ? '' : apiBase}${sent.path ?? path}`
  const type = kind === 'page' ? 'application/x-www-form-urlencoded' : 'application/json'
  const toText = (fields: Record<string, unknown>) =>
    kind === 'page'
      ? new URLSearchParams(fields as Record<string, string>).toString()
      : JSON.stringify(fields)
  const headers =
    kind === 'page'
      ? await world.requesters.toBrowserHeaders('admin', 'olga', row.endsSession)
      : world.requesters.toHeaders('admin', row.owner ?? 'olga')
  const request = new Request(url, {
    method,
    redirect: 'manual',
    headers: { ...sent.headers, ...headers, ...(sent.body ? { 'content-type': type } : {}) },
    ...(sent.body ? { body: toText(sent.body) } : {}),
    ...(sent.image ? { body: sent.image } : {}),
  })
  const isOfModules =
    kind === 'module' || /^\/(credentials|models|tools\/remote)\b/.test(sent.path ?? path)
  return isOfModules ? world.fetchModule(request, true) : world.fetchHub(request, true)
}

test.each([
  ['api', apiTable],
  ['module', moduleTable],
  ['page', pageTable],
] as const)(
  'T12: every write of an admin by %s adds an entry',
  { timeout: 120_000 },
  async (kind, table: Table) => {
    const missing: string[] = []
    const rows = Object.entries(table).filter(isOfAdmins)
    expect(rows.length).toBeGreaterThan(8)
    for (const [name, row] of rows) {
      // A decision that was made already is not made again.
      await env.DB.prepare(`UPDATE approvals SET status = 'pending', decided_at = NULL`).run()
      const before = await countEntries()
      const response = await send(name, row, kind)
      await response.text()
      expect(response.status, name).toBeLessThan(400)
      if ((await countEntries()) === before) missing.push(name)
    }
    expect(missing).toEqual([])
  },
)

test('T12: entries cannot be changed or deleted, and contain no secret', async () => {
  await expect(env.DB.prepare('UPDATE admin_log SET action = ?').bind('x').run()).rejects.toThrow()
  await expect(env.DB.prepare('DELETE FROM admin_log').run()).rejects.toThrow()
  const { results } = await env.DB.prepare('SELECT * FROM admin_log').all()
  const text = JSON.stringify(results)
  expect(text).toContain('credential.set')
  expect(text).not.toContain('a-new-secret')
  expect(text).not.toContain('Count the plums')
})

test('T12: the log is filtered by account, action, target and time, in pages, in one round trip', async () => {
  const { requesters } = world
  const read = async (query: string) => {
    const headers = requesters.toHeaders('admin', 'olga')
    const request = new Request(`http://hub.test${apiBase}/admin/log${query}`, { headers })
    const response = await world.fetchHub(request, true)
    expect(readCost(response.headers).roundTrips).toBe(1)
    // biome-ignore lint/suspicious/noExplicitAny: entries of every shape
    return (await response.json()) as { entries: any[]; has_more: boolean; next_cursor: string }
  }
  const policies = await read('?action=policy.*&limit=100')
  expect(new Set(policies.entries.map(({ action }) => action))).toEqual(
    new Set(['policy.set', 'policy.delete']),
  )
  const [first] = (await read('?action=policy.set&target=scout')).entries
  expect(first).toMatchObject({
    account: { name: 'admin' },
    target_type: 'policy',
    target: { name: 'scout' },
  })
  expect(first.after.allowed).toEqual(['hub:read'])
  expect((await read('?account=nobody')).entries).toEqual([])
  expect((await read('?since=2999-01-01')).entries).toEqual([])
  const page = await read('?limit=2')
  expect(page.has_more).toBe(true)
  const next = await read(`?limit=2&cursor=${page.next_cursor}`)
  const ids = [...page.entries, ...next.entries].map(({ id }) => id)
  expect(new Set(ids).size).toBe(4)
  expect([...ids].sort().reverse()).toEqual(ids)
})

test('T12: the page and its CSV show who did what, before and after; a deleted account by its id', async () => {
  await env.DB.prepare(
    `INSERT INTO admin_log (id, account_id, action, target_type, target_id, before, after, created_at)
     VALUES ('old', 'gone-account', 'account.role', 'account', 'gone-target', '{"role":"guest"}', '{"role":"member"}', 1)`,
  ).run()
  const open = async (path: string) => {
    const headers = await world.requesters.toBrowserHeaders('admin', 'olga')
    return world.fetchHub(new Request(`http://hub.test${path}`, { headers }), true)
  }
  const page = await open('/admin/log?action=account.role&until=2000-01-01')
  expect(readCost(page.headers).roundTrips).toBe(1)
  const html = await page.text()
  for (const part of ['gone-account', 'gone-target', '<code>guest</code>', '<code>member</code>']) {
    expect(html).toContain(part)
  }
  const csv = await (await open('/admin/log.csv?account=gone-account')).text()
  expect(csv.trim().split('\r\n')).toHaveLength(2)
  expect(csv).toContain('account.role')
})
