import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createGrantApi } from '../../../src/hub/api/hub-api'
import type { AuditEntry } from '../../../src/hub/contract/hub'
import { audit as limits } from '../../../src/shared/config'
import { createScene, signIn } from '../../web/open-pages'
import { adminKey, readCost } from '../create-test-hub'

const { hub, mira, scout, activationId } = await createScene()
const grantApi = createGrantApi(hub.context)

const entryOf = (more: Partial<AuditEntry> = {}): AuditEntry => ({
  callId: hub.clock.newId<string>(),
  tool: 'hub_search',
  grant: 'hub:read',
  argumentsHash: 'hash',
  decision: 'allowed',
  outcome: null,
  durationMs: null,
  resultBytes: null,
  at: hub.clock.now(),
  ...more,
})

/** A call of an external program, and a call of the agent in the scene's activation. */
const outside = await grantApi.recordIntent(
  mira.id,
  entryOf({ arguments: '{"query":"<b>keys</b>"}' }),
)
await grantApi.recordResult(outside.id, { outcome: 'ok', durationMs: 12, resultBytes: 340 })
hub.clock.advance(1_000)
const inside = `${activationId}:call-1`
await env.DB.prepare(
  `INSERT INTO audit_log (id, account_id, activation_id, call_id, tool, "grant", arguments_hash, decision,
     outcome, duration_ms, result_bytes, created_at)
   VALUES (?, ?, ?, 'call-1', 'hub_search', 'hub:read', 'h', 'allowed', 'ok', 380, 3100, ?)`,
)
  .bind(inside, scout.id, activationId, hub.clock.now())
  .run()
hub.clock.advance(1_000)
const reason = `Missing grant hub:write. Why: <b>. An admin can change the policy: /policy/${mira.name}#denied`
const denied = await grantApi.recordIntent(
  mira.id,
  entryOf({ tool: 'hub_create_post', decision: 'denied', reason }),
)

const ask = (query: string, key: string | null = adminKey) => hub.call(`/audit${query}`, { key })
const toolsOf = async (query: string, key?: string) =>
  (await ask(query, key)).body.entries.map(
    ({ tool, decision }: AuditEntry) => `${tool} ${decision}`,
  )

test('M9: an entry is completed once; then it cannot be changed, replaced or deleted', async () => {
  const read = () => env.DB.prepare('SELECT * FROM audit_log ORDER BY id').all()
  const { results: before } = await read()
  const open = await grantApi.recordIntent(mira.id, entryOf())
  const changes = [
    `UPDATE audit_log SET outcome = 'error' WHERE id = '${outside.id}'`,
    `UPDATE audit_log SET tool = 'hub_vote' WHERE id = '${outside.id}'`,
    `UPDATE audit_log SET outcome = 'ok', arguments_hash = 'x' WHERE id = '${open.id}'`,
    `UPDATE audit_log SET duration_ms = 1 WHERE id = '${open.id}'`,
    `UPDATE audit_log SET decision = 'allowed', outcome = 'ok' WHERE decision = 'denied'`,
    `DELETE FROM audit_log WHERE id = '${open.id}'`,
    'DELETE FROM audit_log',
  ]
  for (const change of changes) {
    await expect(env.DB.prepare(change).run(), change).rejects.toThrow('append-only')
  }
  await env.DB.prepare(
    `INSERT OR REPLACE INTO audit_log SELECT id, account_id, activation_id, call_id, 'hub_vote', "grant",
       arguments_hash, decision, outcome, duration_ms, result_bytes, created_at, arguments, reason, rule_id FROM audit_log`,
  ).run()
  await grantApi.recordResult(open.id, { outcome: 'ok', durationMs: 1, resultBytes: 2 })
  await grantApi.recordResult(open.id, { outcome: 'error', durationMs: 3, resultBytes: 4 })
  const { results: after } = await read()
  expect(after.filter(({ id }) => id !== open.id)).toEqual(before)
  expect(after.find(({ id }) => id === open.id)).toMatchObject({
    outcome: 'ok',
    tool: 'hub_search',
  })
})

test('M9: an admin sees account, tool, task and outcome of each call, in one round trip', async () => {
  const { body, headers } = await ask('?tool=hub_search&outcome=ok&limit=10')
  expect(body.entries[1]).toMatchObject({
    id: inside,
    tool: 'hub_search',
    grant: 'hub:read',
    decision: 'allowed',
    outcome: 'ok',
    activation_id: activationId,
    task: 'mention',
    asked_by: { name: mira.name },
    duration_ms: 380,
    account: { id: scout.id, name: scout.name, kind: 'agent' },
  })
  expect(body.entries[1]).not.toHaveProperty('arguments')
  expect(readCost(headers).roundTrips).toBe(1)
})

test('M9: arguments and results are for admins and the owner of the agent', async () => {
  const stranger = await hub.join('stranger', 'human')
  const texts = async (id: string, key: string) => {
    const { status, body } = await ask(`/${encodeURIComponent(id)}`, key)
    return status === 200 ? [body.entry.arguments, body.entry.result] : status
  }
  expect(await texts(inside, adminKey)).toEqual([
    '{"query":"<b>tail</b>"}',
    'Three results <script>',
  ])
  expect(await texts(outside.id, mira.key)).toEqual(['{"query":"<b>keys</b>"}', null])
  expect(await texts(outside.id, stranger.key)).toBe(404)
  expect(await texts(inside, stranger.key)).toBe(404)
  expect(await texts(inside, mira.key)).toBe(404)
  expect(await toolsOf('', stranger.key)).toEqual([])

  await env.DB.prepare(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'e', ?, 0)`,
  )
    .bind(scout.id, stranger.id)
    .run()
  expect(await toolsOf('', stranger.key)).toEqual(['hub_search allowed'])
  expect(await texts(inside, stranger.key)).toEqual([
    '{"query":"<b>tail</b>"}',
    'Three results <script>',
  ])
  expect((await ask('', null)).status).toBe(401)
})

test('M9: credentials in arguments are masked, and arguments are truncated', async () => {
  const long = 'x'.repeat(limits.argumentsCharsMax)
  const secret = `sk-${'a1'.repeat(20)}`
  const { id } = await grantApi.recordIntent(
    mira.id,
    entryOf({ arguments: JSON.stringify({ secret, long }) }),
  )
  const { body } = await ask(`/${id}`)
  expect(body.entry.arguments).toHaveLength(limits.argumentsCharsMax)
  expect(body.entry.arguments).not.toContain(secret)
})

test('M9: the audit is filtered by account, tool, decision and time, and read page by page', async () => {
  expect(await toolsOf(`?account=${scout.name}`)).toEqual(['hub_search allowed'])
  expect(await toolsOf('?decision=denied')).toEqual(['hub_create_post denied'])
  expect(await toolsOf('?tool=hub_create_*')).toEqual(['hub_create_post denied'])
  expect(await toolsOf('?tool=hub_create')).toEqual([])
  expect(await toolsOf('?account=nobody')).toEqual([])
  expect(await toolsOf('?until=2025-12-31')).toEqual([])
  const all = (await ask('?limit=200')).body.entries.map(({ id }: { id: string }) => id)
  expect((await ask('?since=2026-01-01')).body.entries).toHaveLength(all.length)

  const seen: string[] = []
  let next: string | null = ''
  while (next !== null && seen.length < 100) {
    const { body } = await ask(`?limit=2${next && `&cursor=${next}`}`)
    seen.push(...body.entries.map(({ id }: { id: string }) => id))
    next = body.next_cursor
  }
  expect(seen).toEqual(all)
  for (const wrong of ['?decision=maybe', '?since=yesterday', '?tool=a;b', '?cursor=x']) {
    expect((await ask(wrong)).status, wrong).toBe(400)
  }
})

test('M9: long filters find nothing and cause no error, although D1 refuses long patterns', async () => {
  const long = 'hub_create_'.repeat(6).slice(0, 63)
  expect(await toolsOf(`?tool=${long}`)).toEqual([])
  expect(await toolsOf(`?tool=${long}*`)).toEqual([])
  const action = long.replaceAll('_', '.')
  expect((await hub.call(`/admin/log?action=${action}*`, { key: adminKey })).status).toBe(200)
  const people = await (await signIn(hub)).get(`/admin/people?q=${'%C3%A9'.repeat(60)}`)
  expect(people.status).toBe(200)
})

test('M9: the page shows the same entries, escaped, with links to the activation and as CSV', async () => {
  const browser = await signIn(hub)
  const html = await browser.read(`/audit?account=${scout.name}`)
  expect(html).toContain(`href="/activations/${activationId}"`)
  expect(html).toContain(`href="/audit/${encodeURIComponent(inside)}"`)
  expect(html).toContain(`value="${scout.name}"`)
  expect(html).toContain(`href="/audit.csv?account=${scout.name}"`)

  const entry = await browser.read(`/audit/${encodeURIComponent(inside)}`)
  expect(entry).toContain('&lt;b&gt;tail&lt;/b&gt;')
  expect(entry).not.toContain('Three results <script>')
  expect(await browser.read('/audit?decision=denied')).toContain('denied')
  const refused = await browser.read(`/audit/${denied.id}`)
  expect(refused).toContain('Why: &lt;b&gt;.')
  expect(refused).toContain(`href="/policy/${mira.name}#denied"`)

  const csv = await browser.get('/audit.csv?decision=denied')
  expect(csv.headers.get('content-type')).toContain('text/csv')
  const lines = (await csv.text()).trim().split('\r\n')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain(`,${mira.name},human,hub_create_post,hub:read,denied,`)
})

test('M9: an invalid filter is shown as an error, and visitors are sent to sign in', async () => {
  const browser = await signIn(hub)
  const wrong = await browser.get('/audit?since=soon')
  expect(wrong.status).toBe(400)
  expect(await wrong.text()).toContain('since: ')
  for (const path of ['/audit', '/audit.csv', `/audit/${outside.id}`]) {
    const response = await hub.fetch(path, { redirect: 'manual' })
    expect(response.headers.get('location'), path).toMatch(/^\/login\?next=/)
  }
  const theirs = await (await signIn(hub, mira.key)).read('/audit')
  expect(theirs).toContain('Your tool calls')
  expect(theirs).not.toContain(activationId)
})

test('M4: a denied call links from the activation to the line of the policy', async () => {
  const browser = await signIn(hub)
  const withResult = async (result: string) => {
    await env.DB.prepare(
      `UPDATE activation_traces SET trace = json_set(trace, '$.events[3].text', ?)
       WHERE activation_id = ?`,
    )
      .bind(result, activationId)
      .run()
    return browser.read(`/activations/${activationId}`)
  }
  const denied = `Error: Missing grant hub:read. Why: the hub's policy denies it with "hub:*". An admin can change the policy: /policy/${scout.name}#denied`
  expect(await withResult(denied)).toContain(`href="/policy/${scout.name}#denied"`)
  const invented = `${denied}" onclick="x`
  expect(await withResult(invented)).not.toContain('href="/policy/')
})
