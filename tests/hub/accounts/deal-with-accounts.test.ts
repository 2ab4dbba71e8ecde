import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { apiRoutes } from '../../../src/hub/app'
import { formatExact } from '../../../src/shared/format'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
let mira: Awaited<ReturnType<typeof hub.join>>
let count = 0

beforeEach(async () => {
  mira = await hub.join(`mira${++count}`, 'human')
  await office.clear()
  await office.hubApi.sweep(hub.clock.now())
})

const act = async (method: string, path: string, body?: object) => {
  const answer = await hub.call(`/accounts/${mira.name}${path}`, { method, key: adminKey, body })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}
const ban = (body: object) => act('POST', '/bans', { kind: 'ban', reason: 'Spam', ...body })
const signIn = async (key = mira.key) => {
  const response = await hub.fetch('/login', {
    method: 'POST',
    headers: {
      'sec-fetch-site': 'same-origin',
      origin: 'http://hub.test',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ key, next: '/' }).toString(),
    redirect: 'manual',
  })
  return response.headers.get('set-cookie')?.split(';')[0] ?? ''
}
const logged = async () =>
  (
    await env.DB.prepare(
      'SELECT action, reason, account_id FROM admin_log WHERE target_id = ? ORDER BY created_at, rowid',
    )
      .bind(mira.id)
      .all<{ action: string; reason: string | null }>()
  ).results

test('T10: a disabled account is refused by every route of the API and by pages, until it is enabled', async () => {
  const cookie = await signIn()
  expect((await hub.fetch('/inbox', { headers: { cookie } })).status).toBe(200)
  await act('POST', '/disable', { reason: 'Left' })
  for (const route of apiRoutes) {
    if (route.access === 'open') continue
    const query = route.method === 'get' ? '?name=x&q=x' : ''
    const path = route.path.replaceAll(/:\w+/g, 'x') + query
    const method = route.method.toUpperCase()
    const answer = await hub.call(path, {
      method,
      key: mira.key,
      body: route.body ? {} : undefined,
    })
    expect(answer.body?.code, `${method} ${path}`).toBe('ACCOUNT_DISABLED')
    expect(answer.status).toBe(403)
  }
  const inbox = await hub.fetch('/inbox', { headers: { cookie }, redirect: 'manual' })
  expect(inbox.headers.get('location')).toMatch(/^\/login/)
  expect(await signIn()).toBe('')
  await act('POST', '/enable')
  expect((await hub.call('/feed', { key: mira.key })).status).toBe(200)
  expect(await logged()).toMatchObject([
    { action: 'account.register' },
    { action: 'account.disable', reason: 'Left' },
    { action: 'account.enable' },
  ])
})

test('T10: a ban says its reason and end, and ends by itself or when it is lifted', async () => {
  const endsAt = new Date(hub.clock.now() + 3_600_000).toISOString()
  const cookie = await signIn()
  await ban({ ends_at: endsAt })
  for (const path of ['/', '/inbox']) {
    const page = await hub.fetch(path, { headers: { cookie }, redirect: 'manual' })
    expect(page.status, path).toBe(403)
    expect(await page.text()).toContain('Reason: Spam')
  }
  const late = await hub.fetch('/', { headers: { cookie: await signIn() } })
  expect(late.status).toBe(403)
  const refused = await hub.call('/feed', { key: mira.key })
  expect(refused).toMatchObject({ status: 403, body: { code: 'BANNED' } })
  expect(refused.body.error).toContain(formatExact(Date.parse(endsAt)))
  expect(refused.body.hint).toContain('Spam')
  hub.clock.advance(3_600_000)
  expect((await hub.call('/feed', { key: mira.key })).status).toBe(200)
  expect((await hub.fetch('/inbox', { headers: { cookie } })).status).toBe(200)
  const { ban: made } = await ban({})
  expect((await hub.call('/feed', { key: mira.key })).body.code).toBe('BANNED')
  const lift = (headers: Record<string, string>) =>
    hub.call(`/accounts/${mira.name}/bans/${made.id}/lift`, {
      method: 'POST',
      key: adminKey,
      headers,
    })
  const once = { 'idempotency-key': 'lift-once' }
  for (const headers of [once, once]) {
    const lifted = await lift(headers)
    expect(lifted).toMatchObject({ status: 200, body: { ban: { id: made.id } } })
  }
  expect((await hub.call('/feed', { key: mira.key })).status).toBe(200)
  expect((await lift({})).status).toBe(404)
})

test('T10: a muted account reads and votes, and writes nothing', async () => {
  const postId = await office.post((await hub.join(`olga${count}`, 'human')).key, 'Plums')
  await ban({ kind: 'mute' })
  expect((await hub.call('/feed', { key: mira.key })).status).toBe(200)
  expect(
    (await hub.call(`/posts/${postId}/vote`, { method: 'PUT', key: mira.key, body: { value: 1 } }))
      .status,
  ).toBe(200)
  const read = await hub.call('/inbox/read', { key: mira.key, body: { all: true } })
  expect(read.status).toBe(200)
  for (const [path, body] of [
    ['/posts', { community: 'general', title: 'Hello' }],
    [`/posts/${postId}/comments`, { content: 'Hello' }],
    ['/conversations', { to: 'admin', content: 'Hello' }],
    ['/communities', { name: 'place' }],
  ] as const) {
    const answer = await hub.call(path, { key: mira.key, body })
    expect(answer, path).toMatchObject({ status: 403, body: { code: 'MUTED' } })
    expect(answer.body.hint).toContain('Spam')
  }
  const profile = { method: 'PATCH', key: mira.key, body: { description: 'x' } }
  expect((await hub.call('/me', profile)).body.code).toBe('MUTED')
})

test('T10 T8: what holds for a member holds for the agents that they claimed', async () => {
  const kit = await hub.join(`kit${count}`)
  await office.run('UPDATE accounts SET owner_id = ?1 WHERE id = ?2', mira.id, kit.id)
  await ban({})
  expect((await hub.call('/feed', { key: kit.key })).body.code).toBe('BANNED')
  await office.run('DELETE FROM bans')
  await act('POST', '/disable', {})
  expect((await hub.call('/feed', { key: kit.key })).body.code).toBe('ACCOUNT_DISABLED')
})

test('T10: keys and sessions are revoked one by one or all', async () => {
  const first = await signIn()
  await signIn()
  const { credentials } = await act('GET', '/access')
  const kinds = (credentials as { kind: string; id: string }[]).map(({ kind }) => kind)
  expect(kinds.sort()).toEqual(['key', 'session', 'session'])
  expect(JSON.stringify(credentials)).not.toContain(mira.key)
  await act('DELETE', '/sessions')
  expect(
    (await hub.fetch('/inbox', { headers: { cookie: first }, redirect: 'manual' })).status,
  ).toBe(303)
  expect((await hub.call('/feed', { key: mira.key })).status).toBe(200)
  const key = (credentials as { kind: string; id: string }[]).find(({ kind }) => kind === 'key')
  await act('DELETE', `/keys/${key?.id}`)
  expect((await hub.call('/feed', { key: mira.key })).status).toBe(401)
})

test('T10: a hosted agent that is disabled or banned stops before its next model call', async () => {
  const scout = await office.createAgent(`scout${count}`)
  await office.post(mira.key, `@${scout.name} hello`)
  const { activationId } = await office.start(scout.id)
  expect((await office.renew(scout.id, activationId)).kind).toBe('renewed')
  const disable = (verb: string) =>
    hub.call(`/accounts/${scout.name}/${verb}`, { method: 'POST', key: adminKey, body: {} })
  expect((await disable('disable')).status).toBe(200)
  expect(await office.renew(scout.id, activationId)).toMatchObject({
    kind: 'refused',
    reason: 'paused',
  })
  expect(await office.hubApi.findActivation(activationId)).toBeNull()
  await office.clear()
  await office.post(mira.key, `@${scout.name} again`)
  expect((await office.load(scout.id)).kind).toBe('paused')
  await disable('enable')
  expect((await office.load(scout.id)).kind).toBe('loaded')
})

test('T10: what waits for a disabled requester is refused with the reason, and their runs are cancelled', async () => {
  const scout = await office.createAgent(`sparrow${count}`)
  await office.post(mira.key, `@${scout.name} first`)
  const { activationId } = await office.start(scout.id)
  await office.post(mira.key, `@${scout.name} second`)
  await act('POST', '/disable', {})
  const row = await office.first(
    'SELECT cancel_requested_at AS at FROM activations WHERE id = ?',
    activationId,
  )
  expect(row?.at).not.toBeNull()
  const waiting = (await office.inbox(scout.id)).filter((item) => item.claimed_by === null)
  expect(waiting).toMatchObject([{ is_task: 0, refusal: 'requester_stopped', read_at: null }])
  await office.clear()
  // A schedule of the account comes due later.
  const task = `INSERT INTO inbox_items (id, account_id, type, task, is_task, from_account_id, requesters, created_at)
    VALUES (?, ?, 'task', 'scheduled', 1, NULL, json_array(?), 1)`
  await office.run(task, crypto.randomUUID(), scout.id, mira.id)
  expect((await office.load(scout.id)).kind).toBe('nothing')
  expect((await office.inbox(scout.id)).at(0)).toMatchObject({ refusal: 'requester_stopped' })
})

test('T8: a renamed account leaves its name free, and old links lead to it until somebody takes it', async () => {
  const old = mira.name
  const lines = { allowed: [`github:write for @${old}, admins trusted`, `box:write for @${old}`] }
  await hub.call('/grants', { method: 'PUT', key: adminKey, body: lines })
  await act('PUT', '/name', { name: `new-${old}` })
  const link = await hub.fetch(`/a/${old}`, { redirect: 'manual' })
  expect(link.status).toBe(301)
  expect(link.headers.get('location')).toBe(`/a/new-${old}`)
  const stored = await office.first<{ allowed: string }>(
    `SELECT group_concat(allowed) AS allowed FROM grant_policies`,
  )
  expect(stored?.allowed).not.toContain(`@${old}`)
  const other = await hub.join(old, 'human')
  expect(other.id).not.toBe(mira.id)
  expect((await hub.fetch(`/a/${old}`)).status).toBe(200)
  const taken = await hub.call(`/accounts/new-${old}/name`, {
    method: 'PUT',
    key: adminKey,
    body: { name: old },
  })
  expect(taken.status).toBe(409)
})

test('T10: nobody deals with their own account or with those of the hub', async () => {
  const act = (name: string, key: string) =>
    hub.call(`/accounts/${name}/disable`, { method: 'POST', key, body: {} })
  expect((await act('rookery', adminKey)).status).toBe(403)
  expect((await act('admin', adminKey)).status).toBe(403)
  const role = { method: 'PUT', key: adminKey, body: { role: 'admin' } }
  await hub.call(`/accounts/${mira.name}/role`, role)
  expect((await act(mira.name, mira.key)).status).toBe(403)
  expect((await act('admin', mira.key)).status).toBe(403)
})
