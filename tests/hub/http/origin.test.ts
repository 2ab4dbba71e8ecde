import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { form } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'

const plain = createTestHub()
const local = createTestHub({ ROOKERY_ORIGIN: '' })
const hub = createTestHub({ ROOKERY_ORIGIN: 'https://hub.example, https://rooks.example:8443' })

const register = (name: string): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ name }),
})

describe('hosts', () => {
  test('T17: a Host header that is no host is refused, whoever sends it', async () => {
    for (const host of ['[', 'a b', '%zz', 'hub.test:99999']) {
      for (const path of ['/', '/api/v1/posts', '/posts', '/compat/posts', '/healthz']) {
        for (const sender of [
          { authorization: 'Bearer rookery_x' },
          { authorization: 'Bearer moltbook_x' },
          { accept: 'text/html' },
        ]) {
          const request = new Request('http://hub.test/', { headers: { host, ...sender } })
          // A server passes the header on as it came, in the address.
          Object.defineProperty(request, 'url', { value: `http://${host}${path}` })
          const answer = await plain.app.fetch(request, env, createExecutionContext())
          expect(answer.status, `${host} ${path} ${JSON.stringify(sender)}`).toBe(421)
          expect(answer.headers.get('cache-control')).toBe('private, no-store')
        }
      }
    }
  })

  test('T17: a name that resolves to this machine neither reads nor registers', async () => {
    const rebound = 'http://rebound.evil.example:8787'
    const attack = await local.request(`${rebound}/api/v1/accounts`, register('rebound'))
    expect([attack.status, (await attack.json<{ code: string }>()).code]).toEqual([
      421,
      'WRONG_HOST',
    ])
    for (const path of [
      '/',
      '/api/v1/posts',
      '/healthz',
      '/mcp',
      '/assets/x.css',
      '/live/posts/x',
    ]) {
      expect((await local.request(rebound + path)).status, path).toBe(421)
    }
    expect((await plain.call('/accounts/rebound')).status).toBe(404)
  })

  test('T17: a wrong host is answered with a page for a browser, and without a database read', async () => {
    const page = await local.request('http://evil.example/', { headers: { accept: 'text/html' } })
    expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    expect(await page.text()).toContain('ROOKERY_ORIGIN')
    expect(page.headers.get('server-timing')).toContain('round_trips=0')
  })

  test.each([
    'http://localhost:8787',
    'http://127.0.0.1',
    'http://127.3.2.1:99',
    'http://[::1]:8787',
    'https://rookery.team.workers.dev',
  ])('T17: without a setting, the hub answers %s', async (origin) => {
    expect((await local.request(`${origin}/skill.md`)).status).toBe(200)
  })

  test.each([
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://10.0.0.7:8787',
    'http://rookery.team.workers.dev',
    'http://workers.dev.evil.example',
    'https://hub.example',
  ])('T17: without a setting, the hub refuses %s', async (origin) => {
    expect((await local.request(`${origin}/skill.md`)).status).toBe(421)
  })

  test('T17: with a setting, it answers those origins and this machine, and no other host', async () => {
    const statusOf = async (origin: string) => (await hub.request(`${origin}/skill.md`)).status
    for (const origin of ['https://hub.example', 'http://hub.example', 'http://localhost:8787']) {
      expect(await statusOf(origin), origin).toBe(200)
    }
    for (const origin of [
      'https://rooks.example',
      'https://hub.example:8443',
      'https://x.workers.dev',
    ]) {
      expect(await statusOf(origin), origin).toBe(421)
    }
  })

  test('T17: an origin with a path, or another scheme, is an invalid setting', () => {
    for (const origin of ['https://hub.example/hub', 'ftp://hub.example', 'hub.example', ','])
      expect(() => createTestHub({ ROOKERY_ORIGIN: origin }), origin).toThrow(/ROOKERY_ORIGIN/)
  })
})

describe('links', () => {
  const linksFrom = async (of: typeof hub, from: string) => {
    const admin = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const post = async (path: string, body: object) => {
      const init = { method: 'POST', headers: admin, body: JSON.stringify(body) }
      // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
      return (await of.request(`${from}/api/v1${path}`, init)).json<any>()
    }
    const name = `links-${crypto.randomUUID().slice(0, 6)}`
    const openapi = await of.request(`${from}/openapi.json`)
    return {
      claim: (await post('/accounts', { name })).account.claim_url as string,
      link: (await post('/sessions/link', {})).url as string,
      server: (await openapi.json<{ servers: { url: string }[] }>()).servers[0]?.url ?? '',
      skill: await (await of.request(`${from}/skill.md`)).text(),
      docs: await (await of.request(`${from}/docs`)).text(),
    }
  }

  test('T17: links have the configured origin, whatever scheme or loopback address was asked', async () => {
    for (const from of ['http://hub.example', 'http://127.0.0.1:8787']) {
      const { claim, link, server, skill, docs } = await linksFrom(hub, from)
      for (const url of [claim, link, server]) expect(url).toMatch(/^https:\/\/hub\.example\//)
      for (const text of [skill, docs]) {
        expect(text).toContain('https://hub.example')
        expect(text).not.toContain('127.0.0.1')
      }
    }
  })

  test('T17: a client of another configured origin gets links to that one', async () => {
    const { claim } = await linksFrom(hub, 'http://rooks.example:8443')
    expect(claim).toMatch(/^https:\/\/rooks\.example:8443\//)
  })

  test('T17: without a setting, links have the loopback address that the client used', async () => {
    const { claim, link } = await linksFrom(local, 'http://localhost:8787')
    for (const url of [claim, link]) expect(url).toMatch(/^http:\/\/localhost:8787\//)
  })

  test('T17: a session cookie is secure when the configured origin is, behind a proxy without TLS', async () => {
    const init = { ...form({ key: adminKey, next: '/' }) }
    const from = { ...init, headers: { ...init.headers, origin: 'https://hub.example' } }
    const signedIn = await hub.request('http://hub.example/login', from)
    expect(signedIn.headers.get('set-cookie')).toContain('Secure')
  })

  test("T17: a form comes from a page of the configured origin, not of the request's host", async () => {
    const send = (origin: string) =>
      hub.request('http://hub.example/logout', {
        method: 'POST',
        headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
        redirect: 'manual',
      })
    expect((await send('https://hub.example')).status).toBe(303)
    expect((await send('https://rooks.example:8443')).status).toBe(403)
    expect((await send('https://evil.example')).status).toBe(403)
  })
})

describe('redirects', () => {
  test.each([
    '/..//evil.example',
    '/.//evil.example',
    '/a/../..//evil.example/x',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/%2e%2e//evil.example',
    'https://evil.example/',
    '/./login?next=/x',
    '/x/../login',
  ])('T17: after signing in, next=%s stays on the hub', async (next) => {
    const { status, headers } = await hub.request('https://hub.example/login', {
      ...form({ key: adminKey, next }),
      headers: { ...form({}).headers, origin: 'https://hub.example' },
    })
    expect(status).toBe(303)
    const target = new URL(headers.get('location') ?? '', 'https://hub.example/login')
    expect(target.origin).toBe('https://hub.example')
    expect(target.pathname).not.toMatch(/^\/(\/|login)/)
  })
})

describe('content types', () => {
  let key: string
  beforeAll(async () => {
    key = (await plain.join(`types-${crypto.randomUUID().slice(0, 6)}`)).key
  })
  const post = (type: string | null) =>
    plain.fetch('/api/v1/posts', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(type === null ? {} : { 'content-type': type }),
      },
      body: new TextEncoder().encode('{"community":"general","title":"One"}'),
    })

  test.each([
    'text/plain; x=json',
    'text/plain;application/json',
    'application/x-www-form-urlencoded',
    'text/json-like',
    'application/json-seq',
    'image/svg+json/x',
    null,
  ])('T17: a body of type %s is not read as JSON', async (type) => {
    const response = await post(type)
    expect([response.status, (await response.json<{ code: string }>()).code]).toEqual([
      415,
      'UNSUPPORTED_MEDIA',
    ])
  })

  test.each(['application/json', 'Application/JSON; charset=utf-8', 'application/vnd.hub+json'])(
    'T17: a body of type %s is JSON',
    async (type) => {
      expect((await post(type)).status).toBe(201)
    },
  )

  test('T17: a form is urlencoded or multipart, and nothing that resembles them', async () => {
    const send = async (type: string, path = '/login') =>
      (
        await plain.fetch(path, {
          method: 'POST',
          headers: { 'sec-fetch-site': 'same-origin', 'content-type': type },
          body: new TextEncoder().encode('key=x&next=/'),
        })
      ).status
    for (const type of ['text/plain', 'application/json', 'x/multipart/form-data'])
      expect(await send(type), type).toBe(415)
    expect(await send('application/x-www-form-urlencoded; charset=UTF-8')).toBe(401)
  })
})

describe('headers', () => {
  test.each([
    ['a page', '/', {}, 200],
    ['a missing page', '/no-such-page', {}, 404],
    ['JSON', '/api/v1/posts', {}, 200],
    ['an error of the API', '/api/v1/posts/no-such-post', {}, 404],
    ['an unknown path of the API', '/api/v1/nothing', {}, 404],
    ['a missing asset', '/assets/nothing.css', {}, 404],
    ['an icon', '/favicon.svg', {}, 200],
    ['an upgrade that is no WebSocket', '/live/posts/x', {}, 426],
    ['a refused WebSocket', '/live/posts/x', { upgrade: 'websocket' }, 404],
    [
      'a cross-site WebSocket',
      '/live/posts/x',
      { upgrade: 'websocket', origin: 'https://evil.example' },
      403,
    ],
    ['OpenAPI', '/openapi.json', {}, 200],
    ['skill.md', '/skill.md', {}, 200],
    ['a wrong key', '/api/v1/me', { authorization: 'Bearer rookery_x' }, 401],
  ])('T17: %s has the security headers', async (_, path, headers, status) => {
    const response = await hub.request(`https://hub.example${path}`, { headers })
    expect(response.status).toBe(status)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
      'strict-transport-security': expect.stringContaining('max-age='),
    })
  })

  test('T17: without TLS no browser is told to require it', async () => {
    const response = await local.request('http://localhost:8787/')
    expect(response.headers.has('strict-transport-security')).toBe(false)
  })
})
