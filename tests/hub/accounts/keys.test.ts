import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { signIn as openSession } from '../../../src/hub/sign-in/actions'
import { signIn } from '../../web/open-pages'
import { createTestHub, adminKey as theAdmin } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
})

test('H2: a key with the read scope cannot write', async () => {
  const { body } = await hub.call('/me/keys', { key: ada.key, body: { scopes: ['read'] } })
  expect((await hub.call('/me', { key: body.key.api_key })).status).toBe(200)
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
    expect((await hub.call('/accounts', { body })).status).toBe(401)
    expect((await hub.call('/accounts', { key: ada.key, body })).status).toBe(403)
  }
  const made = await hub.call('/accounts', {
    key: theAdmin,
    body: { name: 'second-admin', kind: 'human', role: 'admin' },
  })
  expect(made.status).toBe(201)
  const { status } = await hub.call('/system/resume', {
    method: 'POST',
    key: made.body.account.api_key,
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
  const token = new URL(link.body.url).searchParams.get('token') ?? ''
  const session = await openSession(hub.context(), { token }, 'Firefox on Linux')
  const cookie = `rookery_session=${session.token}`
  const me = await hub.call('/me', { headers: { cookie } })
  expect(me.body.account.name).toBe('ada')
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
    expect((await hub.call('/me', { key })).status).toBe(401)
  }
})

test('H2: keys are stored as hashes only; a rotated key works for its grace period', async () => {
  const first = await hub.join('rotator')
  const keys = await hub.call('/me/keys', { key: first.key })
  const { body } = await hub.call('/me/keys', {
    key: first.key,
    body: { replaces: keys.body.keys[0].id, grace_hours: 1 },
  })
  const dump = JSON.stringify((await env.DB.prepare('SELECT * FROM api_keys').all()).results)
  expect(dump).not.toContain(first.key)
  expect(dump).not.toContain(body.key.api_key)
  expect((await hub.call('/me', { key: first.key })).status).toBe(200)
  hub.clock.advance(3_600_001)
  expect((await hub.call('/me', { key: first.key })).status).toBe(401)
  expect((await hub.call('/me', { key: body.key.api_key })).status).toBe(200)
  const gone = await hub.call(`/me/keys/${body.key.id}`, {
    method: 'DELETE',
    key: body.key.api_key,
  })
  expect(gone.status).toBe(200)
  expect((await hub.call('/me', { key: body.key.api_key })).status).toBe(401)
})

async function replace(key: string, replaces: string, graceHours: number) {
  const body = { replaces, grace_hours: graceHours }
  return hub.call('/me/keys', { key, body })
}

test('H2: replacing a key again does not extend its expiry', async () => {
  const { body } = await hub.call('/me/keys', { key: ada.key, body: {} })
  const old = body.key
  const status = async () => (await hub.call('/me', { key: old.api_key })).status
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
  const list = async (key: string) => (await hub.call('/me/keys', { key })).body.keys
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
  expect((await hub.call('/me', { key: other.key })).status).toBe(200)
})

test('H2: a key of another account is deleted by nobody else, whoever knows its id', async () => {
  const owner = await hub.join('owner-of-keys')
  const { body } = await hub.call('/me/keys', { key: owner.key })
  const path = `/me/keys/${body.keys[0].id}`
  const refused = await hub.call(path, { method: 'DELETE', key: ada.key })
  expect([refused.status, refused.body.code]).toEqual([404, 'NOT_FOUND'])
  expect((await hub.call('/me', { key: owner.key })).status).toBe(200)
  expect((await hub.call(path, { method: 'DELETE', key: owner.key })).status).toBe(200)
  expect((await hub.call('/me', { key: owner.key })).status).toBe(401)
})

test('H6: a key is replaced once, also when the old key was deleted before the retry', async () => {
  const { body } = await hub.call('/me/keys', { key: ada.key, body: {} })
  const again = () =>
    hub.call('/me/keys', {
      key: ada.key,
      body: { replaces: body.key.id },
      headers: { 'idempotency-key': 'replace-1' },
    })
  expect((await again()).status).toBe(201)
  await hub.call(`/me/keys/${body.key.id}`, { method: 'DELETE', key: ada.key })
  const second = await again()
  expect([second.status, second.body.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT'])
})

test('H6: a response that contains a secret is not stored, and a retry is refused', async () => {
  const headers = { 'idempotency-key': 'reg-1' }
  const first = await hub.call('/accounts', { body: { name: 'secretive' }, headers })
  expect(first.status).toBe(201)
  const again = await hub.call('/accounts', { body: { name: 'secretive' }, headers })
  expect([again.status, again.body.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT'])
  const taken = await hub.call('/accounts', { body: { name: 'secretive' } })
  expect([taken.status, taken.body.code]).toEqual([409, 'CONFLICT'])
  const dump = JSON.stringify(
    (await env.DB.prepare('SELECT * FROM idempotency_keys').all()).results,
  )
  expect(dump).not.toContain(first.body.account.api_key)
})

describe('T16: a new key is within the key that asks for it', () => {
  const makeKey = (key: string, body: object) => hub.call('/me/keys', { key, body })
  const expiryOf = async (key: string, id: string) => {
    const { body } = await hub.call('/me/keys', { key })
    return body.keys.find((each: { id: string }) => each.id === id).expires_at
  }
  /** Returns a key of a new account that expires in an hour, because it was replaced. */
  const joinExpiring = async (name: string) => {
    const account = await hub.join(name)
    const { body } = await hub.call('/me/keys', { key: account.key })
    const made = await replace(account.key, body.keys[0].id, 1)
    const expiresAt = new Date(hub.clock.now() + 3_600_000).toISOString()
    return { ...account, expiresAt, successor: made.body.key.api_key as string }
  }

  test('a key with the write scope makes no key that reads', async () => {
    const { key } = await hub.join('writer')
    const narrow = (await makeKey(key, { scopes: ['write'] })).body.key
    for (const scopes of [['read'], ['read', 'write']]) {
      const wide = await makeKey(narrow.api_key, { scopes })
      expect([wide.status, wide.body.code]).toEqual([403, 'FORBIDDEN'])
      expect(wide.body.error).toContain('read')
    }
    const same = await makeKey(narrow.api_key, {})
    expect(same.body.key.scopes).toEqual(['write'])
    expect((await hub.call('/me', { key: same.body.key.api_key })).status).toBe(403)
  })

  test('a key that expires makes no key that lives longer, also as its replacement', async () => {
    const { key, expiresAt, successor } = await joinExpiring('mayfly')
    const { body } = await makeKey(key, {})
    expect(body.key.expires_at).toBe(expiresAt)
    const again = await replace(key, body.key.id, 0)
    expect(again.body.key.expires_at).toBe(expiresAt)
    const long = await makeKey(key, {
      expires_at: new Date(hub.clock.now() + 7_200_000).toISOString(),
    })
    expect([long.status, long.body.code]).toEqual([403, 'FORBIDDEN'])
    expect(await expiryOf(successor, again.body.key.id)).toBe(expiresAt)
    hub.clock.advance(3_600_001)
    for (const made of [body, again.body]) {
      expect((await hub.call('/me', { key: made.key.api_key })).status).toBe(401)
    }
    expect((await hub.call('/me', { key: successor })).status).toBe(200)
  })

  test('a key can be made to expire; it never does so in the past', async () => {
    const { key } = await hub.join('planner')
    const at = new Date(hub.clock.now() + 1_000).toISOString()
    const { body } = await makeKey(key, { expires_at: at })
    expect(body.key.expires_at).toBe(at)
    expect((await hub.call('/me', { key: body.key.api_key })).status).toBe(200)
    hub.clock.advance(1_001)
    expect((await hub.call('/me', { key: body.key.api_key })).status).toBe(401)
    const past = await makeKey(key, { expires_at: at })
    expect([past.status, past.body.details[0].path]).toEqual([400, 'body.expires_at'])
  })

  test('a session makes no key that outlives it', async () => {
    const { key } = await hub.join('browser')
    const session = await openSession(hub.context(), { key }, 'Firefox on Linux')
    const made = await hub.call('/me/keys', {
      body: {},
      headers: { cookie: `rookery_session=${session.token}`, 'sec-fetch-site': 'same-origin' },
    })
    expect(made.body.key.expires_at).toBe(new Date(session.expiresAt).toISOString())
  })

  test('a key that was deleted while it asked makes nothing', async () => {
    const account = await hub.join('gone')
    const { body } = await hub.call('/me/keys', { key: account.key })
    const keys = await import('../../../src/hub/sign-in/key-actions')
    const actor = { accountId: account.id, idempotencyKey: null } as Parameters<
      typeof keys.createKey
    >[1]
    const keyId = body.keys[0].id as string
    const context = hub.context()
    const deleteKey = () => env.DB.prepare('DELETE FROM api_keys WHERE id = ?').bind(keyId).run()
    const { d1 } = context.db
    const racingD1 = {
      prepare: (sql: string) => d1.prepare(sql),
      batch: async (statements: D1PreparedStatement[]) => {
        const answers = await d1.batch(statements)
        await deleteKey()
        return answers
      },
    } as typeof d1
    const racing = { ...context.db, d1: racingD1 }
    const making = keys.createKey({ ...context, db: racing }, actor, keyId, {
      label: '',
      graceHours: 0,
    })
    await expect(making).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    const left = await env.DB.prepare('SELECT count(*) AS n FROM api_keys WHERE account_id = ?')
      .bind(account.id)
      .first()
    expect(left).toEqual({ n: 0 })
  })

  test('an admin with a stored key makes no sign-in link that is more than the key', async () => {
    const made = await hub.call('/accounts', {
      key: theAdmin,
      body: { name: 'deputy', kind: 'human', role: 'admin' },
    })
    const { api_key: key } = made.body.account
    const narrow = (await makeKey(key, { scopes: ['write'] })).body.key.api_key
    const brief = (
      await makeKey(key, { expires_at: new Date(hub.clock.now() + 60_000).toISOString() })
    ).body.key.api_key
    const link = (by: string, name: string) =>
      hub.call('/sessions/link', { method: 'POST', key: by, body: { name } })
    for (const by of [narrow, brief]) {
      expect(await link(by, 'deputy')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    }
    expect((await link(key, 'deputy')).status).toBe(201)
    expect((await link(theAdmin, 'deputy')).status).toBe(201)
  })
})
