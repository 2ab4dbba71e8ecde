import { beforeAll, expect, test } from 'vitest'
import * as z from 'zod'
import { apiRoutes } from '../../../src/hub/app'
import { createTestHub, adminKey as theAdmin } from '../create-test-hub'

const hub = createTestHub()
const closed = createTestHub({ ROOKERY_PUBLIC: 'false' })
let ada: Awaited<ReturnType<typeof hub.join>>
let postId: string

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'One' },
  })
  postId = body.post.id
})

const garbage = [
  'x',
  '%00',
  '00000000-0000-0000-0000-000000000000',
  "'; DROP TABLE posts; --",
  '😀',
  'a'.repeat(3000),
  '%25',
  '..%2f..',
]
const moderating = { reason: 'x', decision: 'uphold', account: 'x', kind: 'mute' }
const withParams = apiRoutes.filter(({ path }) => path.includes(':'))

test.each(withParams)('unknown ids return 404, never 500: $method $path', async (route) => {
  const bodies: Record<string, unknown> = {
    '/posts/:id/comments': { content: 'x' },
    '/comments/:id': { content: 'x' },
    '/posts/:id/vote': { value: 1 },
    '/comments/:id/vote': { value: 1 },
    '/accounts/:name/role': { role: 'guest' },
    '/accounts/:name/moderator': { is_moderator: true },
    '/approvals/:id/decide': { decision: 'deny' },
    '/agents/:name/activate': { task: 'x' },
    '/conversations/:id/messages': { content: 'x' },
    '/agents/:name/definition': { files: { 'config.yaml': 'x' } },
    '/accounts/:name/bans': { kind: 'mute', reason: 'x' },
    '/communities/:name/bans': { kind: 'mute', reason: 'x', account: 'x' },
    '/agents/:name/definition/restore': { version: 1 },
    '/agents/:name/definition/held/apply': { etag: 'x', reason: 'x' },
    '/budgets/:id': { limit_microusd: 1 },
    '/bans/:id/appeal': { text: 'x' },
    '/agents/:name/sets': { name: 'x' },
    '/sets/:id': { name: 'x' },
    '/sets/:id/cases': { activation_id: 'x' },
    '/sets/:id/trials': { files: { 'config.yaml': 'x' } },
    '/sets/:id/trials/preview': { files: { 'config.yaml': 'x' } },
    '/trials/:id/cases/:case_id/verdict': { says: 'same' },
    '/runners/:id': { is_draining: true },
    '/agents/:name/knowledge/facts/:id': { text: 'x' },
    '/agents/:name/private/share': { kind: 'fact', id: 1 },
    '/agents/:name/private/unshare': { kind: 'fact', id: 1 },
    '/agents/:name/private/delete': { kind: 'fact', id: 1 },
  }
  const queries: Record<string, string> = {
    'delete /accounts/:name': '?words=keep',
    'delete /agents/:name/knowledge/files': '?path=x',
    'delete /agents/:name/definition/held': '?etag=x',
  }
  const query = queries[`${route.method} ${route.path}`] ?? ''
  const known = route.body instanceof z.ZodObject ? Object.keys(route.body.shape) : []
  const defaults = Object.fromEntries(
    Object.entries(moderating).filter(([name]) => known.includes(name)),
  )
  for (const id of garbage) {
    const path = route.path.replace(/:\w+/g, () =>
      id.startsWith('%') || id.startsWith('..') ? id : encodeURIComponent(id),
    )
    const needsBody = route.body !== undefined
    // Slow enough for the limit of writes.
    hub.clock.advance(250)
    const { status, body } = await hub.call(path + query, {
      method: route.method.toUpperCase(),
      key: theAdmin,
      ...(needsBody ? { body: bodies[route.path] ?? defaults } : {}),
    })
    // What ends the hold of a backup is repeated until nothing is left of it.
    const isFound = route.path === '/backup/:id'
    const unknown = route.method === 'put' ? [404, 422, 400] : [404]
    const allowed = isFound ? [200, 404] : unknown
    expect(allowed, `${path} ${JSON.stringify(body)}`).toContain(status)
    if (status !== 200)
      expect(body).toMatchObject({
        success: false,
        error: expect.any(String),
        code: expect.any(String),
      })
  }
})

test.each(apiRoutes.filter(({ access }) => access !== 'open' && access !== 'read'))(
  'H2: 401 without a key and with an invalid key: $method $path',
  async (route) => {
    for (const key of [null, 'rookery_wrong']) {
      const { status, body } = await hub.call(route.path, {
        method: route.method.toUpperCase(),
        key,
        ...(route.method === 'get' ? {} : { body: {} }),
      })
      expect(status).toBe(401)
      expect(body).toMatchObject({ success: false, code: 'UNAUTHORIZED', hint: expect.any(String) })
    }
  },
)

test.each(apiRoutes.filter(({ access }) => access === 'admin'))(
  'H1: 403 unless the viewer is an admin: $method $path',
  async (route) => {
    const { status, body } = await hub.call(route.path, {
      method: route.method.toUpperCase(),
      key: ada.key,
      ...(route.method === 'get' ? {} : { body: {} }),
    })
    expect([status, body.code]).toEqual([403, 'FORBIDDEN'])
  },
)

test.each(apiRoutes.filter(({ access }) => access === 'read'))(
  'a private hub requires a key to read: $method $path',
  async (route) => {
    const anonymous = await closed.call(`${route.path}?q=x&name=x`)
    expect(anonymous.status).toBe(401)
    const known = await closed.call(`${route.path}?q=x&name=ada`, { key: ada.key })
    expect([200, 404]).toContain(known.status)
  },
)

test('invalid fields return 400 with the field', async () => {
  const wrong: [string, unknown, string][] = [
    ['/posts', { community: 'general', title: 7 }, 'body.title'],
    ['/posts', { title: 'x' }, 'body.community'],
    ['/posts', { community: 'general', title: 'x'.repeat(301) }, 'body.title'],
    ['/posts', { community: 'general', title: 'x', content: 'x'.repeat(40_001) }, 'body.content'],
    ['/posts', { community: 'general', title: 'x', url: 'javascript:alert(1)' }, 'body.url'],
    ['/posts', [], 'body'],
    ['/posts', 'null', 'body'],
    ['/posts', '{', 'body'],
    [`/posts/${postId}/comments`, { content: '   ' }, 'body.content'],
    [`/posts/${postId}/comments`, { content: 'x'.repeat(10_001) }, 'body.content'],
    [`/posts/${postId}/comments`, { content: 'x', parent_id: 5 }, 'body.parent_id'],
    ['/communities', { name: 'Big Name' }, 'body.name'],
    ['/accounts', { name: 'A' }, 'body.name'],
    ['/me/keys', { scopes: ['all'] }, 'body.scopes.0'],
    ['/inbox/read', { ids: 'x' }, 'body.ids'],
  ]
  for (const [path, body, field] of wrong) {
    const answer = await hub.call(path, { key: ada.key, body })
    expect(answer, `${path} ${JSON.stringify(body).slice(0, 80)}`).toMatchObject({
      status: 400,
      body: { success: false, code: 'VALIDATION' },
    })
    expect(answer.body.details.map(({ path }: { path: string }) => path)).toContain(field)
  }
})

test('unsupported content type, too large body, wrong method, unknown path', async () => {
  const form = await hub.call('/posts', {
    key: ada.key,
    body: 'a=b',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  expect([form.status, form.body.code]).toEqual([415, 'UNSUPPORTED_MEDIA'])
  const large = await hub.call('/posts', {
    key: ada.key,
    body: { title: 'x'.repeat(3 * 1024 * 1024) },
  })
  expect([large.status, large.body.code]).toEqual([413, 'TOO_LARGE'])
  const method = await hub.call('/posts', { method: 'PUT', key: ada.key, body: {} })
  expect([method.status, method.body.code, method.headers.get('allow')]).toEqual([
    405,
    'METHOD_NOT_ALLOWED',
    'POST, GET, HEAD',
  ])
  const path = await hub.call('/nowhere')
  expect([path.status, path.body.code]).toEqual([404, 'NOT_FOUND'])
})

test('H20: responses carry their cost and request id; health and metrics respond', async () => {
  const { headers } = await hub.call('/feed', { headers: { 'x-request-id': 'request-42' } })
  expect(headers.get('x-request-id')).toBe('request-42')
  expect(headers.get('server-timing')).toMatch(/d1;desc="round_trips=1 rows_read=\d+"/)
  for (const path of ['/me', '/posts/x', '/nowhere', '/feed?limit=x']) {
    const refused = await hub.call(path)
    expect(refused.headers.get('server-timing'), path).toContain('d1;desc=')
    expect(refused.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  }
  const health = await hub.fetch('/healthz')
  expect([health.status, await health.json()]).toEqual([
    200,
    { status: 'ok', sweep_age_seconds: 0 },
  ])
  const readiness = await hub.fetch('/readyz')
  expect([readiness.status, await readiness.json()]).toEqual([
    200,
    { status: 'ready', reasons: [], disk: null, agents: null },
  ])
  const metrics = await (await hub.fetch('/metrics')).text()
  expect(metrics).toMatch(/^rookery_d1_round_trips_total [1-9]\d*$/m)
  expect(metrics).toMatch(/^rookery_communities 5$/m)
  expect((await closed.fetch('/metrics')).status).toBe(401)
})
