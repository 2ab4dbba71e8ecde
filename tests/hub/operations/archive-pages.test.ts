import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { decompress } from '../../../src/hub/operations/archive-format'
import { dayMs } from '../../../src/hub/operations/archive-queries'
import { readRecords, toArchiveView } from '../../../src/hub/operations/archive-view'
import type { ArchiveKind } from '../../../src/hub/schema/audit'
import { signIn } from '../../web/open-pages'
import { adminKey, readCost } from '../create-test-hub'
import { createArchiveScene } from './create-archive-scene'

const { hub, mira, scout, activationId, all, insertRecords, findRecords } =
  await createArchiveScene()
const hubApi = createHubApi(hub.context)
const sweep = () => hubApi.sweep(hub.clock.now())

test('archive: the page of an archived run opens from its file, and the audit from the day', async () => {
  const usesBefore = await all('SELECT * FROM usage_days')
  const before = await (await signIn(hub)).read(`/activations/${activationId}`)
  expect(before).toContain('One change fits.')
  const call = await all<{ id: string; created_at: number }>(
    `SELECT id, created_at FROM audit_log WHERE activation_id = '${activationId}'`,
  )
  expect(call).toEqual([])
  await insertRecords('words', hub.clock.now() - 3 * dayMs)
  const day = Math.floor(hub.clock.now() / dayMs)
  const inside = `${activationId}:call-1`
  await env.DB.prepare(
    `INSERT INTO audit_log (id, account_id, activation_id, call_id, tool, "grant", arguments_hash, decision,
       outcome, duration_ms, result_bytes, created_at) VALUES (?, ?, ?, 'call-1', 'hub_search', 'hub:read', 'h', 'allowed', 'ok', 380, 3100, ?)`,
  )
    .bind(inside, scout.id, activationId, hub.clock.now())
    .run()
  hub.clock.advance(30 * dayMs)
  await sweep()
  expect((await findRecords()).stored.traces, 'not before its whole day is old').toContain(
    activationId,
  )
  hub.clock.advance(dayMs)
  for (let pass = 0; pass < 3; pass++) await sweep()
  const { stored } = await findRecords()
  expect(stored.traces).not.toContain(activationId)
  expect(stored.audit).not.toContain(inside)

  const [admin, owner] = [await signIn(hub), await signIn(hub, mira.key)]
  expect(await admin.read(`/activations/${activationId}`)).toContain('One change fits.')
  const api = await hub.call(`/activations/${activationId}`, { key: adminKey })
  expect(api.body.trace.steps).toHaveLength(2)
  expect(readCost(api.headers).roundTrips).toBe(1)
  // Others see of an archived run what they saw before: no words.
  const mine = await hub.call(`/activations/${activationId}`, { key: mira.key })
  expect([mine.body.is_redacted, JSON.stringify(mine.body).includes('You are scout.')]).toEqual([
    true,
    false,
  ])

  const date = new Date(day * dayMs).toISOString().slice(0, 10)
  const list = await hub.call(`/audit?since=${date}`, { key: adminKey })
  expect(list.body.entries.map(({ id }: { id: string }) => id)).not.toContain(inside)
  const file = list.body.archives.find((each: { day: string }) => each.day === date)
  const archived = `archived=${encodeURIComponent(file.name)}`
  const old = await hub.call(`/audit?${archived}&tool=hub_*`, { key: adminKey })
  expect(old.body.entries).toMatchObject([
    { id: inside, account: { name: scout.name }, task: 'mention', asked_by: { name: mira.name } },
  ])
  expect(readCost(old.headers).roundTrips).toBe(1)
  const html = await admin.read(`/audit?since=${date}`)
  expect(html).toContain(`>${date}</a>`)
  expect(await admin.read(`/audit?${archived}`)).toContain(
    `href="/audit/${encodeURIComponent(inside)}?${archived}"`,
  )
  expect(await admin.read(`/audit/${encodeURIComponent(inside)}?${archived}`)).toContain(
    'Three results',
  )
  expect(await admin.read(`/audit.csv?${archived}`)).toContain('hub_search')
  // A member sees of a file what they saw of the table.
  const of = await hub.call(`/audit?${archived}`, { key: mira.key })
  expect(of.body.entries).toEqual([])
  expect((await owner.get(`/audit/${encodeURIComponent(inside)}?${archived}`)).status).toBe(404)
  expect(
    (await hub.call('/audit?archived=2026-01-01/none', { key: adminKey })).body.entries,
  ).toEqual([])
  expect((await hub.call('/audit?archived=../secret', { key: adminKey })).status).toBe(400)
  expect(await all('SELECT * FROM usage_days')).toEqual(usesBefore)
})

test('archive: the page of budgets leads admins to archived model calls, and nobody else reads them', async () => {
  const from = hub.clock.now()
  const [id = ''] = await insertRecords('usage', from)
  await env.DB.prepare('UPDATE usage_events SET community_id = ? WHERE activation_id = ?')
    .bind('a-private-place', id)
    .run()
  hub.clock.advance(64 * dayMs)
  for (let pass = 0; pass < 3; pass++) await sweep()
  const [admin, member] = [await signIn(hub), await signIn(hub, mira.key)]
  const link = /href="(\/budgets\/calls\.csv\?archived=[^"]+)"/g
  await admin.read('/budgets')
  const page = await admin.get('/budgets')
  expect(readCost(page.headers).roundTrips).toBe(1)
  const links = [...(await page.text()).matchAll(link)].map(([, path = '']) => path)
  const day = new Date(from).toISOString().slice(0, 10)
  const path = links.find((each) => each.includes(day)) ?? ''
  const file = await admin.get(path)
  expect(readCost(file.headers).roundTrips).toBe(1)
  const text = await file.text()
  expect(text).toContain(`,${scout.name},${id},1,test/model,mention,1,0,1,0,0.000005,no,1\r\n`)
  expect(text).not.toContain('a-private-place')
  expect(await admin.read(`/budgets?archived_before=${day}`)).not.toContain(path)
  expect(await member.read('/budgets')).not.toMatch(link)
  expect((await member.get(path)).status).toBe(403)
  const none = await admin.read(path.replace(/%2F.*/, '%2Fnone'))
  expect(none.trimEnd().split('\n')).toHaveLength(1)
})

test('archive: files hold no words, and the deletion of an account reaches its archived runs', async () => {
  const { objects } = await env.FILES.list({ prefix: 'archive/' })
  expect(objects.length).toBeGreaterThan(1)
  const { archive: store } = hub.context()
  for (const { key } of objects) {
    const kind = key.split('/')[1] as ArchiveKind
    if (kind === 'traces') continue
    const { json } = await readRecords(store, kind, toArchiveView(kind, { key, day: 0 }).name)
    expect(json, key).not.toMatch(/quetzal|One change fits|You are scout/)
  }
  const stub = await all<{ trace: string }>(
    `SELECT trace FROM activation_traces WHERE activation_id = '${activationId}'`,
  )
  const { key, offset, length } = JSON.parse(stub[0]?.trace.slice('archived:'.length) ?? '')
  const line = await decompress((await store.get(key, { offset, length })) ?? new Uint8Array())
  expect(line).toMatch(
    new RegExp(`^{"activation_id":"${activationId}","sealed":"[A-Za-z0-9+/=]+"}\n$`),
  )
  const gone = await hub.call(`/accounts/${mira.name}?words=remove`, {
    key: adminKey,
    method: 'DELETE',
  })
  expect(gone.status).toBe(200)
  expect(
    await all(`SELECT 1 FROM activation_traces WHERE activation_id = '${activationId}'`),
  ).toEqual([])
  const again = await hub.call(`/activations/${activationId}`, { key: adminKey })
  expect([again.status, again.body.trace]).toEqual([200, null])
  expect(stub[0]?.trace).toMatch(/^archived:/)
})
