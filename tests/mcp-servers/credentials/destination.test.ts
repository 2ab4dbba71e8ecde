import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { createCipher } from '../../../src/mcp-servers/credentials/cipher'
import { createConnect } from '../../../src/mcp-servers/credentials/connect'
import { createRecentSecrets } from '../../../src/mcp-servers/credentials/scrub'
import { createVault } from '../../../src/mcp-servers/credentials/vault'
import { servers } from '../../../src/mcp-servers/servers'
import { toServiceKinds } from '../../../src/mcp-servers/services/check-service'
import { createServices, serviceInput } from '../../../src/mcp-servers/services/services'
import { createDb } from '../../../src/shared/db/db'
import { noOwnAccounts } from '../../support/fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { asAdmin } from '../../support/services'

const clock = createFakeClock()
const db = createDb(env.DB)
const kinds = toServiceKinds(servers)
const base = { db, clock, kinds, isPrivateAllowed: false, canReachPrivate: () => false }
const vault = createVault({
  ...base,
  cipher: createCipher(['bmV3LW5ldy1uZXctbmV3LW5ldy1uZXctbmV3LW5ldy0=']),
  readVariable: () => 'secret of the worker',
})
const services = createServices({ ...base, bindCredentials: vault.bind })
const connect = createConnect({
  ...base,
  vault,
  known: createRecentSecrets(),
  ownAccounts: noOwnAccounts,
})
const { hubApi } = createFakeHubApi({ requested: null, allowed: [], denied: [] })

const value = 'a-value-of-mine'
const setKey = (more: object = {}) =>
  vault.put({
    name: 'weather-key',
    value,
    server: 'http',
    service: 'weather',
    community: null,
    agent: null,
    by: 'ada',
    ...more,
  })
type Place = readonly [Parameters<typeof services.put>[0], string]
const declare = (baseUrl: string, more: object = {}, place: Place = ['http', 'weather']) =>
  services.put(
    ...place,
    serviceInput.parse({
      base_url: baseUrl,
      credential: 'weather-key',
      headers: { 'X-Key': '{credential}' },
      ...more,
    }),
    'ada',
  )
/** Returns the credential that a request to the service would have. */
const use = async (server = 'http', service = 'weather') => {
  const { connection } = await connect({
    server,
    service,
    hub: hubApi,
    signal: new AbortController().signal,
    owner: null,
    actor: { ...scoutAtWork, postId: null, idempotencyKey: null },
  })
  return [connection.baseUrl.origin, connection.credential]
}
const change = (table: string, column: string, to: string | null) =>
  env.DB.prepare(`UPDATE ${table} SET ${column} = ?`).bind(to).run()

beforeEach(() =>
  env.DB.batch([env.DB.prepare('DELETE FROM credentials'), env.DB.prepare('DELETE FROM services')]),
)

const home = 'https://weather.example/v1'
const evil = 'https://evil.example/v1'

describe('T16: a credential is sealed to its destination', () => {
  test.each(['vault', 'worker'])(
    'a changed base_url does not get the value of the %s',
    async (of) => {
      const isOfWorker = of === 'worker'
      await declare(home)
      await setKey(isOfWorker ? { value: 'env:ROOKERY_SECRET_A' } : {})
      const own = isOfWorker ? 'secret of the worker' : value
      expect(await use()).toEqual(['https://weather.example', own])
      await expect(declare(evil)).rejects.toMatchObject({
        code: 'VALIDATION',
        message: expect.stringContaining('weather-key'),
        details: [{ path: 'body.base_url' }],
      })
      expect(await use()).toEqual(['https://weather.example', own])
      await change('services', 'base_url', evil)
      await expect(use()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await setKey()
      expect(await use()).toEqual(['https://evil.example', value])
    },
  )

  test.each([
    'http://weather.example/v1',
    'https://weather.example:8443/v1',
    'https://api.weather.example/v1',
  ])('another origin needs the value again: %s', async (baseUrl) => {
    await declare(home)
    await setKey()
    const plain = { allow_http: true }
    await expect(declare(baseUrl, plain)).rejects.toMatchObject({ code: 'VALIDATION' })
    await vault.remove('weather-key')
    await declare(baseUrl, plain)
    await setKey()
    expect(await use()).toEqual([new URL(baseUrl).origin, value])
  })

  test('another path or further host of the same origin does not', async () => {
    await declare(home)
    await setKey()
    await declare('https://WEATHER.example./v2', { hosts: ['cdn.weather.example'] })
    expect(await use()).toEqual([expect.stringContaining('weather.example'), value])
  })

  test('deleting and declaring the service again does not unseal it', async () => {
    await setKey()
    await declare(home)
    await services.remove('http', 'weather')
    await expect(declare(evil)).rejects.toMatchObject({ code: 'VALIDATION' })
    await declare(home)
    expect(await use()).toEqual(['https://weather.example', value])
  })

  test('one that is set first is sealed to the first declaration', async () => {
    await setKey()
    expect((await vault.list())[0]?.destination).toBeNull()
    await declare(home)
    expect((await vault.list())[0]?.destination).toBe('https://weather.example')
    await expect(declare(evil)).rejects.toMatchObject({ code: 'VALIDATION' })
  })

  test('one from before is sealed at its first use, and not to a changed service', async () => {
    await setKey()
    const row = await env.DB.prepare('SELECT ciphertext, iv FROM credentials').first()
    await declare(home)
    const unseal = () =>
      env.DB.prepare('UPDATE credentials SET ciphertext = ?, iv = ?, destination = NULL')
        .bind(row?.ciphertext, row?.iv)
        .run()
    await unseal()
    await expect(declare(evil)).rejects.toMatchObject({ code: 'VALIDATION' })
    expect(await use()).toEqual(['https://weather.example', value])
    expect((await vault.list())[0]?.destination).toBe('https://weather.example')
  })

  test('changed rows do not decrypt', async () => {
    await declare(home)
    await setKey()
    await change('services', 'base_url', evil)
    for (const destination of ['https://evil.example', null]) {
      await change('credentials', 'destination', destination)
      await expect(use()).rejects.toThrow(/cannot be decrypted/)
    }
    await change('services', 'base_url', home)
    await change('credentials', 'destination', 'https://weather.example')
    expect(await use()).toEqual(['https://weather.example', value])
  })

  test('a declaration does not redirect the credential of a built-in service', async () => {
    await setKey({ name: 'github-key', server: 'github', service: 'github' })
    const overriding = declare(evil, { credential: 'github-key' }, ['github', 'github'])
    await expect(overriding).rejects.toMatchObject({ details: [{ path: 'body.base_url' }] })
    expect(await use('github', 'github')).toEqual(['https://api.github.com', value])
  })

  test('a database needs the value again for another host or without TLS', async () => {
    const place: Place = ['postgres', 'books']
    const declareBooks = (url: string) =>
      declare(url, { credential: 'books-key', headers: {} }, place)
    await declareBooks('postgres://db.example:5432/books')
    await setKey({
      name: 'books-key',
      server: 'postgres',
      service: 'books',
      value: 'me:my-password',
    })
    await declareBooks('postgres://db.example:5432/more-books')
    for (const url of ['postgres://evil.example:5432/books', 'hyperdrive:EVIL'])
      await expect(declareBooks(url)).rejects.toMatchObject({ code: 'VALIDATION' })
    await expect(
      declareBooks('postgres://db.example:5432/books?sslmode=disable'),
    ).rejects.toMatchObject({ code: 'VALIDATION' })
  })

  test('over the API, also for a remote server', async () => {
    const key = { value, server: 'remote', service: 'acme' }
    expect((await asAdmin('PUT', '/credentials/acme-key', key)).status).toBe(200)
    const put = (baseUrl: string) =>
      asAdmin('PUT', '/remote-servers/acme', {
        base_url: baseUrl,
        credential: 'acme-key',
        description: 'Acme',
        allow_http: true,
      })
    expect((await put('https://acme.example/mcp')).status).toBe(200)
    const answer = await put('https://evil.example/mcp')
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      code: 'VALIDATION',
      details: [{ path: 'body.base_url' }],
      hint: expect.stringContaining('Delete the credential'),
    })
    expect(JSON.stringify(answer.body)).not.toContain(value)
    const { body } = await asAdmin('GET', '/credentials')
    expect(body).toMatchObject({ credentials: [{ destination: 'https://acme.example' }] })
  })
})
