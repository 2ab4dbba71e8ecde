import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { composeApp } from '../../../src/compose'
import { apiRoutes } from '../../../src/hub/app'
import { operations } from '../../../src/hub/dialect/operations'
import { dialectRoutes } from '../../../src/hub/dialect/own-routes'
import { bodyLimits } from '../../../src/shared/config'
import { sampleSize } from '../../support/sample'
import { adminKey, createTestHub, readCost } from '../create-test-hub'
import { createDialectHub, type DialectHub, toTheirKey, ways } from './create-dialect-hub'

let dialect: DialectHub
let mira: Awaited<ReturnType<DialectHub['join']>>
let theirs: string
beforeAll(async () => {
  dialect = createDialectHub()
  mira = await dialect.join('mira', 'human')
  theirs = toTheirKey(mira.key)
})

const toName = ({ method, path }: { method: string; path: string }) =>
  `${method.toUpperCase()} ${path}`
const split = (name: string) => name.split(' ') as [method: string, path: string]

describe('H3: the table of operations', () => {
  /** Groups of operations that existing clients use. */
  const tags = new Set(['sign-in', 'read', 'write', 'inbox', 'communities'])
  /** What no other hub has: choices of how one is notified, images for texts, versions of texts, votes that set a value, and moderation with reasons and appeals. */
  const isOurs = (name: string) =>
    /^\w+ \/(settings|media|moderation|reports|appeals|bans)\b|\/(versions|vote|report|remove|restore)$/.test(
      name,
    )

  test('H3: has every route of the features that existing clients use, and no operation twice', () => {
    const ours = new Set(operations.map((operation) => operation.ours))
    const missing = apiRoutes.filter((route) => tags.has(route.tag) && !ours.has(toName(route)))
    expect(missing.map(toName).filter((name) => !isOurs(name))).toEqual([])
    const names = operations.map((operation) => operation.theirs)
    expect(names.length).toBe(new Set(names).size)
    for (const route of dialectRoutes) expect(names).toContain(toName(route))
    const api = new Set(apiRoutes.map(toName))
    for (const { instead } of operations) if (instead) expect(api).toContain(instead)
  })

  test('H3: every operation is answered by its route, whichever way a client is known', async () => {
    for (const way of [...ways.atRoot, ...ways.below]) {
      for (const { theirs: name } of operations) {
        const [method, pattern] = split(name)
        const path =
          pattern.replace(/:\w+/g, 'nobody') + (pattern.endsWith('/poll') ? '?timeout=0' : '')
        const body = method === 'GET' ? {} : { body: {} }
        const key = way.toKey(mira.key)
        const answer = await dialect.send(way.base + path, { method, key, ...body })
        const title = `${name} ${way.way}: ${answer.text}`
        expect(
          [404, 405].includes(answer.status) && /path|supported/.test(answer.body.error),
          title,
        ).toBe(false)
        expect(typeof answer.body.success, title).toBe('boolean')
        if (!answer.body.success) expect(answer.body.message, title).toBe(answer.body.error)
      }
    }
  })

  test('H3: no input makes an operation fail otherwise than with what is wrong', async () => {
    const { key } = await dialect.join('fuzz')
    const names = ['name', 'title', 'content', 'submolt', 'community', 'ids', 'to', 'parentId']
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('general', 'm/general', '', null, 0))
    const body = fc.dictionary(fc.constantFrom(...names, 'agent_id', 'value', 'x'), value)
    const query = fc.constantFrom('', '?page=2', '?offset=3&limit=2', '?sort=x', '?type=agents&q=a')
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...operations),
        body,
        query,
        async (operation, sent, more) => {
          const [method, pattern] = split(operation.theirs)
          const path = pattern.replace(/:\w+/g, 'fuzz')
          if (path.endsWith('/poll')) return
          dialect.hub.clock.advance(5_000)
          const answer = await dialect.send(`/compat${path}${more}`, {
            method,
            key,
            ...(method === 'GET' ? {} : { body: sent }),
          })
          expect(answer.status, `${operation.theirs} ${answer.text}`).toBeLessThan(500)
          expect(typeof answer.body.success).toBe('boolean')
        },
      ),
      { numRuns: sampleSize(25, 100) },
    )
  })

  test('H3: an old path without such a key is not found, and says what to call', async () => {
    const moved = operations.filter(({ theirs: name, ours }) => name !== ours)
    for (const { theirs: name, ours } of moved) {
      const [method, pattern] = split(name)
      const path = `/api/v1${pattern.replace(/:\w+/g, 'nobody')}`
      const answer = await dialect.send(path, { method, key: mira.key })
      const title = `${name}: ${answer.text}`
      expect([answer.status, answer.body.code], title).toEqual([404, 'NOT_FOUND'])
      expect(answer.body.hint, title).toContain(ours)
      expect(answer.body.message, title).toBeUndefined()
    }
    const voted = await dialect.send('/api/v1/posts/x/upvote', { method: 'POST', key: mira.key })
    expect([voted.status, voted.body.hint]).toEqual([
      404,
      expect.stringContaining('PUT /posts/:id/vote'),
    ])
    const polled = await dialect.send('/api/v1/notifications/poll', { key: mira.key })
    expect([polled.status, polled.body.hint]).toEqual([
      404,
      expect.stringContaining('service keys'),
    ])
  })
})

describe('H3: paths outside of the table', () => {
  test('H3: what the dialect does not change is answered as below /api/v1', async () => {
    for (const path of ['/me', '/communities', '/tools', '/openapi.json', '/activations']) {
      const plain = await dialect.send(`/api/v1${path}`, { key: mira.key })
      expect(plain.status, path).toBe(200)
      for (const way of [...ways.atRoot, ...ways.below]) {
        const same = await dialect.send(way.base + path, { key: way.toKey(mira.key) })
        expect([same.status, same.body], `${way.base}${path}`).toEqual([200, plain.body])
      }
    }
  })

  test('H3: without a key of the dialect there is no API at /, and the answer says where it is', async () => {
    for (const path of ['/posts', '/agents/me', '/me', '/submolts']) {
      for (const key of [mira.key, adminKey, undefined]) {
        const answer = await dialect.send(path, key ? { key } : {})
        expect([answer.status, answer.body.hint], path).toEqual([
          404,
          expect.stringMatching(/\/api\/v1.*\/compat/),
        ])
      }
    }
    const page = await dialect.send('/posts', { headers: { accept: 'text/html' } })
    expect([page.status, page.body]).toEqual([404, null])
  })

  test('H3: pages are for browsers: whoever has a key of the dialect gets the API there, or nothing', async () => {
    for (const path of ['/', '/m/general', '/login', '/docs', '/settings/keys', '/nothing']) {
      const answer = await dialect.send(path, { key: theirs, headers: { accept: 'text/html' } })
      expect([answer.status, answer.body?.code], path).toEqual([404, 'NOT_FOUND'])
      expect(answer.body.hint, path).toContain('/api/v1')
      expect(answer.body.message, path).toBe(answer.body.error)
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = await dialect.send('/login', { method: 'POST', key: theirs, headers: form })
    expect([sent.status, sent.body.code]).toEqual([404, 'NOT_FOUND'])
    for (const path of ['/inbox', '/search?q=a']) {
      const page = await dialect.send(path, { key: mira.key })
      expect(page.text.slice(0, 15), path).toMatch(/^<!doctype html/i)
      for (const accept of ['text/html', 'application/json']) {
        const api = await dialect.send(path, { key: theirs, headers: { accept } })
        expect([api.status, api.body.success], path).toEqual([200, true])
        expect(api.headers.get('vary')).not.toMatch(/accept/i)
      }
    }
  })

  test('H3: what is no page and no part of the API just takes the key', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/skill.md', '/openapi.json']) {
      const plain = await dialect.send(path, { key: mira.key })
      const same = await dialect.send(path, { key: theirs })
      expect([same.status, same.headers.get('content-type')], path).toEqual([
        200,
        plain.headers.get('content-type'),
      ])
    }
    const hidden = createDialectHub({ ROOKERY_PUBLIC: 'false' })
    expect((await hidden.send('/metrics', { key: theirs })).status).toBe(200)
    expect((await hidden.send('/metrics')).status).toBe(401)
  })

  test('H3: an unknown path is not found, and another method is refused with those that there are', async () => {
    for (const way of ways.below) {
      const key = way.toKey(mira.key)
      const unknown = await dialect.send(`${way.base}/leaderboard`, { key })
      expect([unknown.status, unknown.body.hint]).toEqual([404, expect.stringContaining('openapi')])
      const wrong = await dialect.send(`${way.base}/submolts`, { method: 'PUT', key, body: {} })
      expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, POST, HEAD'])
      expect((await dialect.send(`${way.base}/submolts`, { method: 'OPTIONS', key })).status).toBe(
        405,
      )
    }
    for (const path of ['/compat', '/compat/', '/compat/m/general']) {
      const answer = await dialect.send(path, { headers: { accept: 'text/html' } })
      expect([answer.status, answer.body?.code], path).not.toEqual([200, undefined])
    }
  })

  test('T16: no name in a path or a query leads to another path', async () => {
    const own = createDialectHub()
    const { key } = await own.join('walker')
    const odd = [
      '..%5Cme',
      '..%5C..%5Cme',
      '.%09.%5Cme',
      '%5C',
      'x%5C..',
      '%2F..%2Fme',
      '%252e%252e%5C',
    ]
    const named = [...operations.map(({ theirs: name }) => name), ...apiRoutes.map(toName)]
    for (const name of named.filter((each) => each.includes(':'))) {
      const [method, pattern] = split(name)
      const send = (segment: string) =>
        own.send(`/compat${pattern.replace(/:\w+/g, segment)}`, {
          method,
          key,
          ...(method === 'GET' ? {} : { body: {} }),
        })
      own.hub.clock.advance(60_000)
      const { status, body } = await send('nobody')
      for (const segment of odd) {
        const answer = await send(segment)
        expect([answer.status, answer.body?.code], `${name} ${segment}`).toEqual([
          status,
          body.code,
        ])
      }
    }
    for (const name of ['.', '..', '%2e%2e', '..%5Cme', '../me']) {
      const answer = await own.send(`/compat/agents/profile?name=${name}`, { key })
      expect([400, 404], name).toContain(answer.status)
      expect(answer.body.success, name).toBe(false)
    }
  })

  test('H3: a slash at the end leads to the path without it, at the same place', async () => {
    for (const way of [...ways.atRoot, ...ways.below]) {
      const key = way.toKey(mira.key)
      const answer = await dialect.send(`${way.base}/submolts/?limit=1`, { key })
      expect([answer.status, answer.headers.get('location')]).toEqual([
        308,
        `${way.base}/submolts?limit=1`,
      ])
    }
  })
})

describe('T7, T14: a request of the dialect is one request of the API', () => {
  test('T7, T14: with the limits of its route', async () => {
    for (const way of [...ways.atRoot, ...ways.below]) {
      const key = way.toKey(mira.key)
      const path = `${way.base}/posts`
      const long = { key, body: { content: 'x'.repeat(bodyLimits.jsonBytesMax) } }
      expect((await dialect.send(path, long)).body.code, way.base).toBe('TOO_LARGE')
      const headers = { 'content-type': 'application/x-unknown' }
      const text = await dialect.send(path, { key, method: 'POST', headers, body: {} })
      expect(text.body.code, way.base).toBe('UNSUPPORTED_MEDIA')
    }
  })

  test('T7, H20: counted once, with its own id and cost', async () => {
    const headers = { 'x-request-id': 'request-of-mine' }
    const count = async () => {
      const answer = await dialect.send('/submolts', { key: theirs, headers })
      expect(answer.headers.get('x-request-id')).toBe('request-of-mine')
      expect(readCost(answer.headers).roundTrips).toBe(1)
      return Number(answer.headers.get('x-ratelimit-remaining'))
    }
    await count()
    const before = await count()
    expect(before - (await count())).toBe(1)
    const head = await dialect.send('/submolts', { key: theirs, method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
  })

  test('T7: says after how many seconds to retry in every spelling', async () => {
    const headers = { 'x-client-address': '2001:db8::99' }
    const register = (name: string) =>
      dialect.send('/compat/agents/register', { body: { name }, headers })
    let answer = await register('burst0')
    for (let count = 1; answer.status === 201 && count < 60; count++) {
      answer = await register(`burst${count}`)
    }
    const seconds = Number(answer.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(answer.body).toMatchObject({
      success: false,
      code: 'RATE_LIMITED',
      message: answer.body.error,
      retryAfter: seconds,
      retry_after: seconds,
      retry_after_seconds: seconds,
      retryAfterSeconds: seconds,
      retry_after_minutes: Math.ceil(seconds / 60),
    })
  })

  test('T8: a private hub is private, and its session cookies write from its own pages only', async () => {
    const hidden = createDialectHub({ ROOKERY_PUBLIC: 'false' })
    const refused = await hidden.send('/compat/posts')
    expect([refused.status, refused.body.hint]).toEqual([
      401,
      expect.stringContaining('POST /compat/api/v1/agents/register'),
    ])
    expect((await hidden.send('/posts', { key: theirs })).status).toBe(200)
    const form = new URLSearchParams({ key: mira.key, next: '/' })
    const signedIn = await dialect.hub.fetch('/login', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://hub.test' },
      body: form.toString(),
      redirect: 'manual',
    })
    const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    expect(cookie).toContain('=')
    const write = (origin: string) =>
      dialect.send('/compat/posts', {
        headers: { cookie, origin },
        body: { submolt: 'general', title: 'By a browser' },
      })
    expect((await write('https://evil.test')).status).toBe(403)
    expect((await write('http://hub.test')).status).toBe(201)
  })

  test('H6: an idempotency key gives the first answer again, whichever way it is sent', async () => {
    const headers = { 'idempotency-key': 'once' }
    const body = { submolt: 'general', title: 'Once' }
    const first = await dialect.send('/api/v1/posts', { key: theirs, headers, body })
    const again = await dialect.send('/compat/posts', { key: mira.key, headers, body })
    const ours = { community: 'general', title: 'Once' }
    const plain = await dialect.send('/api/v1/posts', { key: mira.key, headers, body: ours })
    expect([first.status, again.body.id, plain.body.post.id]).toEqual([
      201,
      first.body.id,
      first.body.id,
    ])
    expect(again.headers.get('idempotent-replay')).toBe('true')
  })

  test('H3: two names of one field must not contradict each other', async () => {
    const post = (body: object) => dialect.send('/posts', { key: theirs, body })
    const cases: [body: object, status: number][] = [
      [{ submolt: 'general', community: 'other', title: 'x' }, 400],
      [{ submolt: 'm/general', submolt_name: 'general', title: 'x' }, 201],
    ]
    for (const [body, status] of cases) expect((await post(body)).status).toBe(status)
    const { id } = (await post({ submolt: 'general', title: 'Talk' })).body
    const reply = { content: 'x', parentId: 'a', parent_id: 'b' }
    const refused = await dialect.send(`/posts/${id}/comments`, { key: theirs, body: reply })
    expect(refused.body.details[0].path).toBe('body.parentId')
    const listed = await dialect.send('/agents?min_staleness=5&min_idle_seconds=6', { key: theirs })
    expect(listed.body.details[0].path).toBe('query.min_staleness')
    expect((await dialect.send('/agents/profile', { key: theirs })).body.details[0].path).toBe(
      'query.name',
    )
  })

  test('H3: a body that is no JSON object is left to its route', async () => {
    for (const body of ['{', '[]', '1']) {
      const response = await dialect.hub.fetch('/posts', {
        method: 'POST',
        headers: { authorization: `Bearer ${theirs}`, 'content-type': 'application/json' },
        body,
      })
      const answer: { details: unknown } = await response.json()
      expect([response.status, answer.details], body).toEqual([400, expect.any(Array)])
    }
  })
})

test('H3: a hub with a prefix of its own accepts its keys with the prefix that clients insist on', async () => {
  const other = createDialectHub({ ROOKERY_KEY_PREFIX: 'nest_' })
  const { key } = await other.join('nestling')
  expect(key).toMatch(/^nest_/)
  const sent = key.replace(/^nest_/, 'moltbook_')
  expect((await other.send('/agents/me', { key: sent })).body.name).toBe('nestling')
  expect((await other.send('/compat/agents/me', { key })).body.name).toBe('nestling')
  const made = await other.send('/compat/agents/me/keys', { key, body: { label: 'second' } })
  expect(made.body.key.api_key).toMatch(/^moltbook_/)
  expect(() => createTestHub({ ROOKERY_KEY_PREFIX: 'moltbook_' })).toThrow('ROOKERY_KEY_PREFIX')
})

test('H3, H16: tools over MCP and live sockets take such a key', async () => {
  const { app } = composeApp(env)
  const post = await dialect.send('/posts', {
    key: theirs,
    body: { submolt: 'general', title: 'Live' },
  })
  const fetchApp = (path: string, init: RequestInit) =>
    app.fetch(new Request(`http://hub.test${path}`, init), env, {
      waitUntil: () => {},
      passThroughOnException: () => {},
      props: {},
    } as unknown as ExecutionContext)
  const socket = (key: string) =>
    fetchApp(`/live/posts/${post.body.id}`, {
      headers: { upgrade: 'websocket', authorization: `Bearer ${key}` },
    })
  const opened = await socket(theirs)
  expect(opened.status).toBe(101)
  opened.webSocket?.accept()
  opened.webSocket?.close()
  expect((await socket(`${theirs}x`)).status).toBe(401)
  const call = (key: string) =>
    fetchApp('/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    })
  const [plain, same] = [await call(mira.key), await call(theirs)]
  expect([plain.status, same.status]).toEqual([200, 200])
  expect(await same.text()).toBe(await plain.text())
  expect((await call(`${theirs}x`)).status).toBe(401)
})
