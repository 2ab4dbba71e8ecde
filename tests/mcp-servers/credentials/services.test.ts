import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { createCipher } from '../../../src/mcp-servers/credentials/cipher'
import { createConnect } from '../../../src/mcp-servers/credentials/connect'
import { createRecentSecrets } from '../../../src/mcp-servers/credentials/scrub'
import { createVault } from '../../../src/mcp-servers/credentials/vault'
import type { ServiceKind } from '../../../src/mcp-servers/services/check-service'
import { deleteService, upsertService } from '../../../src/mcp-servers/services/queries'
import { createServices, serviceInput, toRow } from '../../../src/mcp-servers/services/services'
import { run } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'
import { noOwnAccounts } from '../../support/fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { asAdmin } from '../../support/services'

const key = 'bmV3LW5ldy1uZXctbmV3LW5ldy1uZXctbmV3LW5ldy0='

/** A server that knows its service, one whose credential has parts, and one that is no HTTP. */
const forge: ServiceKind = {
  builtIn: (service) =>
    service === 'forge'
      ? { baseUrl: 'https://api.forge.example', headers: { Authorization: 'Bearer {credential}' } }
      : null,
  isSentInHeader: true,
}
const cloud: ServiceKind = {
  builtIn: () => ({ baseUrl: 'https://cloud.example' }),
  hostsOf: (credential) => [`${credential.split(':')[0]}.cloud.example`],
  secretParts: (credential) => credential.split(':').slice(1),
  checkCredential: (credential) => (credential.includes(':') ? null : 'It is region:secret.'),
}
const store: ServiceKind = {
  builtIn: () => null,
  checkBaseUrl: (url) => (url.protocol === 'store:' ? null : 'Must begin with store:'),
}
const kinds = new Map([
  ['forge', forge],
  ['cloud', cloud],
  ['store', store],
])

const clock = createFakeClock()
const db = createDb(env.DB)
const vault = createVault({
  db,
  clock,
  kinds,
  cipher: createCipher([key]),
  readVariable: () => undefined,
})
const put = (server: string, name: string, value: string, more: object = {}) =>
  vault.put({
    name,
    value,
    server,
    service: server,
    community: null,
    agent: null,
    by: 'ada',
    ...more,
  })

const known = createRecentSecrets()
const connect = createConnect({
  db,
  vault,
  known,
  kinds,
  isPrivateAllowed: false,
  ownAccounts: noOwnAccounts,
})
const { hubApi } = createFakeHubApi({ requested: null, allowed: [], denied: [] })
const open = (server: string, service = server) =>
  connect({
    server,
    service,
    hub: hubApi,
    signal: new AbortController().signal,
    owner: null,
    actor: { ...scoutAtWork, postId: null, idempotencyKey: null },
  })

describe('a service that its server knows', () => {
  beforeAll(() => put('forge', 'forge-key', 'the-key-of-the-forge'))

  test('M5: is used as it is known, with the only credential there is for all', async () => {
    const { connection, scrubber } = await open('forge')
    expect(connection).toMatchObject({
      service: 'forge',
      format: 'json',
      allowPrivate: false,
      hosts: ['api.forge.example'],
      credential: 'the-key-of-the-forge',
      headers: { authorization: 'Bearer the-key-of-the-forge' },
    })
    expect(connection.baseUrl.href).toBe('https://api.forge.example/')
    expect(scrubber.text('the-key-of-the-forge')).toBe('[redacted]')
  })

  test('M5: with two credentials for all it does not guess', async () => {
    await put('forge', 'forge-key-2', 'the-other-key-of-it')
    await expect(open('forge')).rejects.toThrow('The service forge has no credential on this hub.')
    await vault.remove('forge-key-2')
  })

  test('M5: a row of an admin overrides it, and goes away again', async () => {
    const declared = { baseUrl: 'https://forge.internal.example/api', credential: 'forge-key' }
    await run(db, upsertService(toRow('forge', 'forge', declared)))
    const { connection } = await open('forge')
    expect(connection.hosts).toEqual(['forge.internal.example'])
    // no header holds the mark, so it is not sent
    expect(connection).toMatchObject({ headers: {}, credential: null })
    await run(db, deleteService('forge', 'forge'))
    expect((await open('forge')).connection.hosts).toEqual(['api.forge.example'])
  })

  test('M2: what it does not know, an admin has to declare', async () => {
    await expect(open('forge', 'other')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      hint: 'An admin can add the service at /credentials.',
    })
  })
})

describe('a credential with parts', () => {
  test('M6: each part is cut out too, and what the server says of hosts holds', async () => {
    await put('cloud', 'cloud-key', 'west:part-of-a-secret')
    const { connection, scrubber } = await open('cloud')
    expect(connection.hosts).toEqual(['cloud.example', 'west.cloud.example'])
    expect(scrubber.text('west:part-of-a-secret and part-of-a-secret, west')).toBe(
      '[redacted] and [redacted], west',
    )
    expect(scrubber.text(btoa('x:part-of-a-secret'))).toContain('[redacted]')
    expect(known.text('part-of-a-secret')).toBe('[redacted]')
  })

  test('M5 M6: one of another shape, or whose part could not be known again, is refused', async () => {
    await expect(put('cloud', 'odd', 'just-one-part')).rejects.toThrow('It is region:secret.')
    await expect(put('cloud', 'odd', 'south-west:short')).rejects.toThrow('at least 8 characters')
    await expect(put('nowhere', 'odd', 'a-value-of-mine')).rejects.toMatchObject({
      message: 'The server nowhere uses no credentials.',
      hint: 'Servers with credentials: forge, cloud, store.',
    })
  })
})

describe('declaring services of every server', () => {
  beforeAll(() => vault.remove('forge-key'))
  const services = createServices({
    db,
    clock,
    kinds,
    canReachPrivate: () => false,
    bindCredentials: vault.bind,
  })
  const declare = (server: string, name: string, body: object) =>
    services.put(server, name, serviceInput.parse(body), 'ada')

  test('M13: a base URL that is not of the web is judged by its server, its host by all', async () => {
    for (const [base, words] of [
      ['https://db.example.com/x', 'Must begin with store:'],
      ['store://ada:secret@db.example.com/x', 'password'],
      ['store://127.1/x', '127.0.0.1 is not on the public internet'],
      ['store://0x7f000001/x', 'not on the public internet'],
      ['store://%6cocalhost/x', 'not on the public internet'],
      ['store://[::1]:5432/x', 'not on the public internet'],
    ] as const) {
      const refused = declare('store', 'main', { base_url: base })
      await expect(refused, base).rejects.toMatchObject({
        details: [{ path: 'body.base_url', message: expect.stringContaining(words) }],
      })
    }
    await declare('store', 'main', { base_url: 'store://db.example.com:5432/x?mode=read' })
    expect((await open('store', 'main')).connection).toMatchObject({
      hosts: ['db.example.com:5432'],
      credential: null,
    })
  })

  test('M5 M6: a header that names a secret holds the mark of one, and no literal', async () => {
    const base_url = 'https://api.example.com'
    for (const name of [
      'Authorization',
      'X-Api-Key',
      'cookie',
      'Private-Token',
      'X-Client-Secret',
    ]) {
      const refused = declare('forge', 'own', {
        base_url,
        headers: { [name]: 'Bearer abc0123456789' },
      })
      await expect(refused, name).rejects.toMatchObject({
        details: [{ path: 'body.headers', message: expect.stringContaining('{credential}') }],
      })
    }
    for (const name of ['Host', 'Content-Length', 'transfer-encoding']) {
      const refused = declare('forge', 'own', { base_url, headers: { [name]: '7' } })
      await expect(refused, name).rejects.toMatchObject({
        details: [{ path: 'body.headers', message: `${name} is set by the hub` }],
      })
    }
    const headers = { Authorization: 'Bearer {credential}', 'X-Plan': 'free', 'X-Api-Key': '' }
    await declare('forge', 'own', { base_url, headers })
    await services.remove('forge', 'own')
  })

  test('M13: a host with a star is no host', async () => {
    const base_url = 'https://api.example.com'
    await expect(
      declare('forge', 'own', { base_url, hosts: ['*.example.com'] }),
    ).rejects.toMatchObject({
      details: [{ path: 'body.hosts', message: '*.example.com is not a host or host:port' }],
    })
    await expect(declare('forge', 'own', { base_url: 'https://*.example.com' })).rejects.toThrow()
  })

  test('M5: what an admin leaves out comes from what the server knows', async () => {
    await declare('forge', 'forge', { base_url: 'https://forge.example.org/api/v3' })
    const listed = await services.list('forge')
    expect(listed).toEqual([
      expect.objectContaining({
        server: 'forge',
        name: 'forge',
        is_built_in: false,
        updated_by: 'ada',
        headers: { Authorization: 'Bearer {credential}' },
      }),
    ])
    await services.remove('forge', 'forge')
    expect(await services.list('forge')).toEqual([
      expect.objectContaining({ is_built_in: true, base_url: 'https://api.forge.example' }),
    ])
    await expect(services.remove('forge', 'forge')).rejects.toThrow('There is no such service.')
  })

  test('M5: the API takes a server and a name, and says which servers there are', async () => {
    const body = { base_url: 'https://api.example.com/v1' }
    const put = await asAdmin('PUT', '/services/http/plain', body)
    expect(put).toMatchObject({
      status: 200,
      body: { success: true, server: 'http', name: 'plain' },
    })
    const listed = await asAdmin('GET', '/services')
    expect(listed.body.services).toContainEqual(
      expect.objectContaining({ server: 'http', name: 'plain', base_url: body.base_url }),
    )
    const old = await asAdmin('GET', '/http-services')
    expect(old.body.services).toContainEqual(expect.objectContaining({ name: 'plain' }))
    const nowhere = await asAdmin('PUT', '/services/nowhere/plain', body)
    expect(nowhere.status).toBe(404)
    expect(JSON.stringify(nowhere.body)).toContain('http')
    expect((await asAdmin('DELETE', '/services/http')).status).toBe(404)
    expect((await asAdmin('DELETE', '/services/http/plain')).status).toBe(200)
  })
})
