import { env, exports } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { createCipher } from '../../../src/mcp-servers/credentials/cipher'
import { createConnect } from '../../../src/mcp-servers/credentials/connect'
import type { CredentialRow } from '../../../src/mcp-servers/credentials/queries'
import { createVault } from '../../../src/mcp-servers/credentials/vault'
import { servers } from '../../../src/mcp-servers/servers'
import { toServiceKinds } from '../../../src/mcp-servers/services/check-service'
import { outside } from '../../../src/shared/config'
import { createDb } from '../../../src/shared/db/db'
import type { AccountId, PostId } from '../../../src/shared/ids'
import { adminKey, call, createAccount } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { createOwnless } from '../../support/fake-connect'
import { aThread, createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { allow, asAdmin, declare, declareWithKey } from '../../support/services'

const oldKey = 'b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xkLW9sZC0='
const newKey = 'bmV3LW5ldy1uZXctbmV3LW5ldy1uZXctbmV3LW5ldy0='

const rowOf = (name: string) =>
  env.DB.prepare(
    `SELECT *, key_id AS keyId, agent_id AS agentId, last_used_at AS lastUsedAt FROM credentials WHERE name = ?`,
  )
    .bind(name)
    .first<CredentialRow>()

const clock = createFakeClock()
const db = createDb(env.DB)
const kinds = toServiceKinds(servers)
const vaultWith = (...keys: string[]) => {
  const vault = createVault({
    db,
    clock,
    kinds,
    cipher: createCipher(keys),
    readVariable: (name) => (name === 'ROOKERY_SECRET_A' ? 'secret of the worker' : undefined),
  })
  return { ...vault, open: (row: CredentialRow) => vault.open(row, 'https://weather.example') }
}
const input = (name: string, value: string) => ({
  name,
  value,
  server: 'http',
  service: 'weather',
  community: null,
  agent: null,
  by: 'ada',
})

async function mustFind(name: string): Promise<CredentialRow> {
  const row = await rowOf(name)
  if (!row) throw new Error(`no ${name}`)
  return row
}

describe('the vault', () => {
  test('M5: what is stored holds nothing of the value, and opens again', async () => {
    await vaultWith(newKey).put(input('sealed', 'a-value-of-mine'))
    await vaultWith(newKey).put(input('sealed-too', 'a-value-of-mine'))
    const row = await mustFind('sealed')
    expect(JSON.stringify(row)).not.toContain('a-value-of-mine')
    expect(atob(row.ciphertext ?? '')).not.toContain('value')
    expect((await mustFind('sealed-too')).ciphertext).not.toBe(row.ciphertext)
    expect(await vaultWith(newKey).open(row)).toBe('a-value-of-mine')
  })

  test('M5: a value that was moved, bound elsewhere or changed in the database does not open', async () => {
    await vaultWith(newKey).put(input('bound', 'a-value-of-mine'))
    const row = await mustFind('bound')
    const flipped = `${row.ciphertext?.startsWith('A') ? 'B' : 'A'}${row.ciphertext?.slice(1)}`
    for (const change of [
      { name: 'another' },
      { service: 'evil' },
      { server: 'github' },
      { community: 'general' },
      { agentId: 'x' as AccountId },
      { ciphertext: flipped },
    ]) {
      await expect(vaultWith(newKey).open({ ...row, ...change })).rejects.toThrow(
        /cannot be decrypted/,
      )
    }
  })

  test('M5: after a rotation the old key still opens, and what is used moves to the new one', async () => {
    await vaultWith(oldKey).put(input('rotated', 'a-value-of-mine'))
    const row = await mustFind('rotated')
    await expect(vaultWith(newKey).open(row)).rejects.toThrow(/has no key [0-9a-f]{8}\.$/)
    const keyOf = async () =>
      (await vaultWith(newKey, oldKey).list()).find(({ name }) => name === 'rotated')?.key
    expect(await keyOf()).toBe('old')
    expect(await vaultWith(newKey, oldKey).open(row)).toBe('a-value-of-mine')
    expect(await keyOf()).toBe('current')
    expect(await vaultWith(newKey).open(await mustFind('rotated'))).toBe('a-value-of-mine')
  })

  test('M5: a secret of the Worker is used by its name, and only one that is meant for it', async () => {
    const vault = vaultWith()
    await vault.put(input('of-worker', 'env:ROOKERY_SECRET_A'))
    const row = await mustFind('of-worker')
    expect(row.ciphertext).toBeNull()
    expect(await vault.open(row)).toBe('secret of the worker')
    await expect(vault.put(input('of-worker', 'env:ROOKERY_ADMIN_KEY'))).rejects.toThrow(
      /must start with ROOKERY_SECRET_/,
    )
    await expect(vault.open({ ...row, variable: 'ROOKERY_ADMIN_KEY' })).rejects.toThrow()
    await expect(vault.put(input('of-worker', 'env:ROOKERY_SECRET_B'))).rejects.toMatchObject({
      hint: expect.stringContaining('npx wrangler secret put ROOKERY_SECRET_B'),
    })
  })

  test('M5: without a vault key it says how to make one', async () => {
    await expect(vaultWith().put(input('keyless', 'a-value-of-mine'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      hint: expect.stringContaining('openssl rand -base64 32'),
    })
    expect(await rowOf('keyless')).toBeNull()
  })

  test('M5: the last use is noted, to the minute', async () => {
    const vault = vaultWith(newKey)
    await vault.put(input('used', 'a-value-of-mine'))
    const lastUse = async () => (await mustFind('used')).lastUsedAt
    expect(await lastUse()).toBeNull()
    const first = clock.time
    await vault.open(await mustFind('used'))
    clock.time += outside.lastUsedEveryMs
    await vault.open(await mustFind('used'))
    expect(await lastUse()).toBe(first)
    clock.time += 1
    await vault.open(await mustFind('used'))
    expect(await lastUse()).toBe(clock.time)
  })
})

describe('the API', () => {
  const put = (name: string, body: object) => asAdmin('PUT', `/credentials/${name}`, body)

  test('M5: writes, rotates, lists and deletes, and never tells a value', async () => {
    const first = await put('api-key', { value: 'first-value-of-all', service: 'weather' })
    expect(first.status).toBe(200)
    const second = await put('api-key', { value: 'other-value-of-all', service: 'weather' })
    expect(second.body).toEqual({ success: true, name: 'api-key' })
    const listed = await asAdmin('GET', '/credentials')
    const text = JSON.stringify([first.body, second.body, listed.body])
    expect(text).not.toContain('value-of-all')
    const { ciphertext } = await mustFind('api-key')
    expect(text).not.toContain(ciphertext)
    const { credentials } = listed.body as unknown as { credentials: object[] }
    expect(credentials).toContainEqual({
      name: 'api-key',
      server: 'http',
      service: 'weather',
      community: null,
      agent: null,
      source: 'vault',
      key: 'current',
      destination: null,
      updated_by: 'admin',
      last_used_at: null,
      updated_at: expect.stringMatching(/^\d{4}-/),
    })
    expect((await asAdmin('GET', '/credentials/api-key')).status).toBe(405)
    expect((await asAdmin('DELETE', '/credentials/api-key')).status).toBe(200)
    expect((await asAdmin('DELETE', '/credentials/api-key')).status).toBe(404)
  })

  test('M5: is for admins and their keys only', async () => {
    const mira = await createAccount('mira')
    const body = { value: 'a-value-of-mine', service: 'weather' }
    for (const path of ['/credentials', '/credentials/x', '/http-services', '/http-services/x']) {
      const method = path.endsWith('/x') ? 'PUT' : 'GET'
      const asked = method === 'PUT' ? { body } : {}
      const anybody = await call(method, `/api/v1${path}`, asked)
      expect(anybody.status).toBe(401)
      const member = await call(method, `/api/v1${path}`, { key: mira.key, ...asked })
      expect(member.status).toBe(403)
      const cookie = { cookie: `session=${adminKey}` }
      expect((await call(method, `/api/v1${path}`, { ...asked, headers: cookie })).status).toBe(401)
    }
    expect(await rowOf('x')).toBeNull()
  })

  test('M5 M6: refuses what it could not keep secret, and repeats nothing of it', async () => {
    for (const [body, words] of [
      [{ value: 'short77', service: 'weather' }, 'at least 8 characters'],
      [{ value: 'grün-und-geheim', service: 'weather' }, 'ASCII'],
      [{ value: 'x'.repeat(8_001), service: 'weather' }, 'body.value'],
      [{ value: 'a-value-of-mine' }, 'body.service'],
      [{ value: 'a-value-of-mine', service: 'weather', agent: 'nobody-here' }, 'no such account'],
      [{ value: 'a-value-of-mine', service: 'weather', community: 'attics' }, 'no such community'],
      [{ value: 'env:ROOKERY_ADMIN_KEY', service: 'weather' }, 'ROOKERY_SECRET_'],
    ] as const) {
      const { status, body: answer } = await put('refused', body)
      expect(status).toBeGreaterThanOrEqual(400)
      expect(JSON.stringify(answer)).toContain(words)
      expect(JSON.stringify(answer)).not.toMatch(/short77|grün|xxxx|a-value-of-mine/)
    }
    const broken = await exports.default.fetch(
      new Request('https://hub.test/api/v1/credentials/refused', {
        method: 'PUT',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: '{"value":"a-value-of-mine"',
      }),
    )
    expect(broken.status).toBe(400)
    expect(await broken.text()).not.toContain('mine')
    expect(await rowOf('refused')).toBeNull()
  })
})

describe('which credential is used', () => {
  const use = async (key: string, service: string) => {
    const client = await connectMcp((request) => exports.default.fetch(request), key, '/mcp')
    const result = await client.callTool({
      name: 'http_request',
      arguments: { service, path: '/text' },
    })
    return textOf(result)
  }
  let robin: Awaited<ReturnType<typeof createAccount>>
  let finch: Awaited<ReturnType<typeof createAccount>>

  beforeAll(async () => {
    robin = await createAccount('robin', 'agent')
    finch = await createAccount('finch', 'agent')
    await allow(robin.id, ['http:*'])
    await allow(finch.id, ['http:*'])
  })

  test("M5: an agent's own before that of all", async () => {
    await declareWithKey('shared', 'shared-key', 'the-key-of-all')
    await asAdmin('PUT', '/credentials/robins-key', {
      value: 'robins-own-key-1',
      service: 'shared',
      agent: '@robin',
    })
    // each sees only its own taken out, and the service tells which it got by its length
    expect(await use(robin.key, 'shared')).toContain('[redacted]')
    expect((await mustFind('robins-key')).lastUsedAt).not.toBeNull()
    expect((await mustFind('shared-key')).lastUsedAt).toBeNull()
    expect(await use(finch.key, 'shared')).toContain('[redacted]')
    expect((await mustFind('shared-key')).lastUsedAt).not.toBeNull()
  })

  test('M5: one that is bound to another service, agent or community is not lent', async () => {
    await declare('lonely', {
      credential: 'lonely-key',
      headers: { Authorization: '{credential}' },
    })
    const missing =
      /^Error: The service lonely has no credential lonely-key on this hub\. An admin can add a credential/
    expect(await use(robin.key, 'lonely')).toMatch(missing)
    const value = 'a-value-of-mine'
    await asAdmin('PUT', '/credentials/lonely-key', { value, service: 'shared' })
    expect(await use(robin.key, 'lonely')).toMatch(missing)
    await asAdmin('PUT', '/credentials/lonely-key', { value, service: 'lonely', agent: 'finch' })
    expect(await use(robin.key, 'lonely')).toMatch(missing)
    expect(await use(finch.key, 'lonely')).toContain('[redacted]')
    // outside a thread there is no community
    const general = { value, service: 'lonely', community: 'm/general' }
    await asAdmin('PUT', '/credentials/lonely-key', general)
    expect(await use(finch.key, 'lonely')).toMatch(missing)
  })

  test('M5: a community is bound by its own name, however it was typed', async () => {
    const value = 'a-value-of-mine'
    const typed = { value, service: 'weather', community: 'M/General' }
    expect((await asAdmin('PUT', '/credentials/general-key', typed)).status).toBe(200)
    expect((await mustFind('general-key')).community).toBe('general')
  })

  test('M4 M5: a call that is not allowed opens no credential', async () => {
    await declareWithKey('closed', 'closed-key', 'a-value-of-mine')
    const wren = await createAccount('wren', 'agent')
    await allow(wren.id, ['http:closed:write'])
    expect(await use(wren.key, 'closed')).toMatch(/^Error: Missing grant http:closed:read/)
    expect((await mustFind('closed-key')).lastUsedAt).toBeNull()
  })
})

describe('a service that is opened for one call', () => {
  const openWith = async (postId: PostId | null, isPrivateAllowed = true, community = 'attic') => {
    const vault = createVault({
      db,
      clock,
      kinds,
      cipher: createCipher([newKey]),
      readVariable: () => undefined,
    })
    const bound = { server: 'http', service: 'places', by: 'ada', agent: null }
    await vault.put({ ...bound, name: 'places-key', value: 'the-key-of-all', community: null })
    await vault.put({ ...bound, name: 'attic-key', value: 'the-key-of-attic', community })
    const { hubApi } = createFakeHubApi({ requested: null, allowed: [], denied: [] })
    hubApi.readThread = async () => ({ ...aThread, post: { ...aThread.post, community: 'attic' } })
    const actor = { ...scoutAtWork, postId, idempotencyKey: null }
    const connect = createConnect({ db, vault, kinds, isPrivateAllowed, ...createOwnless() })
    const place = { server: 'http', service: 'places', owner: null }
    return connect({ ...place, actor, hub: hubApi, signal: new AbortController().signal })
  }
  const places = { credential: 'places-key', headers: { 'X-Key': 'k={credential}' } }

  test("M5: a community's credential is used in its threads and nowhere else", async () => {
    await declare('places', places)
    const inAttic = await openWith('post-1' as PostId)
    expect(inAttic.connection.headers).toEqual({ 'x-key': 'k=the-key-of-attic' })
    const asTyped = await openWith('post-1' as PostId, true, 'Attic')
    expect(asTyped.connection.headers).toEqual({ 'x-key': 'k=the-key-of-attic' })
    const nowhere = await openWith(null)
    expect(nowhere.connection.headers).toEqual({ 'x-key': 'k=the-key-of-all' })
    expect(nowhere.scrubber.text('k=the-key-of-all')).toBe('k=[redacted]')
  })

  test('M13: a private address needs the word of the deployment too, for every request', async () => {
    await declare('places', places)
    const { connection } = await openWith(null, false)
    const request = { method: 'GET', url: connection.baseUrl, headers: {} }
    await expect(connection.fetch(request)).rejects.toThrow(/not on the public internet/)
  })
})
