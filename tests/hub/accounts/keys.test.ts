import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { signIn } from '../../web/open-pages'
import { createTestHub, adminKey as theAdmin } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
})

test('H2: a key with the read scope cannot write', async () => {
  const { body } = await hub.call('/agents/me/keys', { key: ada.key, body: { scopes: ['read'] } })
  expect((await hub.call('/agents/me', { key: body.key.api_key })).status).toBe(200)
  const write = await hub.call('/posts', {
    key: body.key.api_key,
    body: { community: 'general', title: 'x' },
  })
  expect([write.status, write.body.code]).toEqual([403, 'FORBIDDEN'])
})

test('only an admin can register with kind human or role admin', async () => {
  for (const body of [
    { name: 'sly', kind: 'human' },
    { name: 'sly', role: 'admin' },
  ]) {
    expect((await hub.call('/agents/register', { body })).status).toBe(401)
    expect((await hub.call('/agents/register', { key: ada.key, body })).status).toBe(403)
  }
  const made = await hub.call('/agents/register', {
    key: theAdmin,
    body: { name: 'second-admin', kind: 'human', role: 'admin' },
  })
  expect(made.status).toBe(201)
  const { status } = await hub.call('/system/resume', {
    method: 'POST',
    key: made.body.agent.api_key,
  })
  expect(status).toBe(200)
})

test('a session cookie can read, and can write only from pages of this hub', async () => {
  const link = await hub.call('/sessions/link', {
    method: 'POST',
    key: theAdmin,
    body: { name: 'ada' },
  })
  expect(link.status).toBe(201)
  const keys = await import('../../../src/hub/keys/actions')
  const token = new URL(link.body.url).searchParams.get('token') ?? ''
  const session = await keys.signIn(hub.context(), { token })
  const again = await keys.signIn(hub.context(), { token })
  expect(again.token).not.toBe(session.token)
  const cookie = `rookery_session=${session.token}`
  const me = await hub.call('/agents/me', { headers: { cookie } })
  expect(me.body.agent.name).toBe('ada')
  const body = { community: 'general', title: 'From a browser' }
  const write = (headers: Record<string, string>) =>
    hub.call('/posts', { body, headers: { cookie, ...headers } })
  expect((await write({ 'sec-fetch-site': 'same-origin' })).status).toBe(201)
  expect((await write({ origin: 'http://hub.test' })).status).toBe(201)
  for (const headers of [
    {},
    { origin: 'http://evil.test' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://hub.test' },
    { 'sec-fetch-site': 'same-site' },
  ] as Record<string, string>[]) {
    expect((await write(headers)).status).toBe(403)
  }
  for (const key of [session.token, token]) {
    expect((await hub.call('/agents/me', { key })).status).toBe(401)
  }
})

test('H2: keys are stored as hashes only; a rotated key works for its grace period', async () => {
  const first = await hub.join('rotator')
  const keys = await hub.call('/agents/me/keys', { key: first.key })
  const { body } = await hub.call('/agents/me/keys', {
    key: first.key,
    body: { replaces: keys.body.keys[0].id, grace_hours: 1 },
  })
  const dump = JSON.stringify((await env.DB.prepare('SELECT * FROM api_keys').all()).results)
  expect(dump).not.toContain(first.key)
  expect(dump).not.toContain(body.key.api_key)
  expect((await hub.call('/agents/me', { key: first.key })).status).toBe(200)
  hub.clock.advance(3_600_001)
  expect((await hub.call('/agents/me', { key: first.key })).status).toBe(401)
  expect((await hub.call('/agents/me', { key: body.key.api_key })).status).toBe(200)
  const gone = await hub.call(`/agents/me/keys/${body.key.id}`, {
    method: 'DELETE',
    key: body.key.api_key,
  })
  expect(gone.status).toBe(200)
  expect((await hub.call('/agents/me', { key: body.key.api_key })).status).toBe(401)
})

async function replace(key: string, replaces: string, graceHours: number) {
  const body = { replaces, grace_hours: graceHours }
  return hub.call('/agents/me/keys', { key, body })
}

test('H2: replacing a key again does not extend its expiry', async () => {
  const { body } = await hub.call('/agents/me/keys', { key: ada.key, body: {} })
  const old = body.key
  const status = async () => (await hub.call('/agents/me', { key: old.api_key })).status
  await replace(ada.key, old.id, 1)
  await replace(ada.key, old.id, 24)
  expect(await status()).toBe(200)
  hub.clock.advance(3_600_001)
  expect(await status()).toBe(401)
  await replace(ada.key, old.id, 24)
  expect(await status()).toBe(401)
})

test('H2: only a key of the account can be replaced; otherwise no key is created', async () => {
  const other = await hub.join('replaced-by-nobody')
  const list = async (key: string) => (await hub.call('/agents/me/keys', { key })).body.keys
  const before = await list(ada.key)
  const [theirs] = await list(other.key)
  await signIn(hub, ada.key)
  const session = await env.DB.prepare(
    `SELECT id FROM api_keys WHERE account_id = ? AND kind = 'session' ORDER BY created_at DESC`,
  )
    .bind(ada.id)
    .first<{ id: string }>()
  for (const id of ['no-such-key', theirs.id, session?.id ?? '']) {
    const made = await replace(ada.key, id, 0)
    expect([made.status, made.body.code]).toEqual([404, 'NOT_FOUND'])
  }
  expect((await list(ada.key)).length).toBe(before.length)
  expect((await hub.call('/agents/me', { key: other.key })).status).toBe(200)
})

test('H6: a key is replaced once, also when the old key was deleted before the retry', async () => {
  const { body } = await hub.call('/agents/me/keys', { key: ada.key, body: {} })
  const again = () =>
    hub.call('/agents/me/keys', {
      key: ada.key,
      body: { replaces: body.key.id },
      headers: { 'idempotency-key': 'replace-1' },
    })
  expect((await again()).status).toBe(201)
  await hub.call(`/agents/me/keys/${body.key.id}`, { method: 'DELETE', key: ada.key })
  const second = await again()
  expect([second.status, second.body.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT'])
})

test('H6: a response that contains a secret is not stored, and a retry is refused', async () => {
  const headers = { 'idempotency-key': 'reg-1' }
  const first = await hub.call('/agents/register', { body: { name: 'secretive' }, headers })
  expect(first.status).toBe(201)
  const again = await hub.call('/agents/register', { body: { name: 'secretive' }, headers })
  expect([again.status, again.body.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT'])
  const taken = await hub.call('/agents/register', { body: { name: 'secretive' } })
  expect([taken.status, taken.body.code]).toEqual([409, 'CONFLICT'])
  const dump = JSON.stringify(
    (await env.DB.prepare('SELECT * FROM idempotency_keys').all()).results,
  )
  expect(dump).not.toContain(first.body.agent.api_key)
})
