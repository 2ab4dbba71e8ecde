import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { composeApp } from '../../../src/compose'
import { apiRoutes } from '../../../src/hub/app'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { knownFields } from '../../../src/shared/known-fields'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()

/** What others write: archives of other hubs, and events of GitHub. */
const foreign = new Set(['POST /import'])

/** Returns where a JSON schema describes an object that can have further fields. */
function findLoose(schema: unknown, path = 'body'): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const isLoose = 'properties' in schema && !('additionalProperties' in schema)
  const inner = Object.entries(schema).flatMap(([name, each]) => findLoose(each, `${path}.${name}`))
  return isLoose ? [path, ...inner] : inner
}

test('T16: every body refuses fields that it does not know, at any depth', () => {
  const loose = [...apiRoutes, ...adminRoutes].flatMap(({ method, path, body }) => {
    const name = `${method.toUpperCase()} ${path}`
    if (!body || foreign.has(name)) return []
    const schema = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' })
    return findLoose(schema).map((where) => `${name} ${where}`)
  })
  expect(loose).toEqual([])
})

describe('T16: a misspelt field is refused, with the field that was meant', () => {
  const cases: [method: string, path: string, body: object, field: string, meant: string][] = [
    ['POST', '/me/keys', { scope: ['read'] }, 'scope', 'scopes'],
    ['POST', '/accounts/admin/service-keys', { scope: ['read'] }, 'scope', 'scopes'],
    ['POST', '/me/keys', { expiresAt: '2027-01-01T00:00:00Z' }, 'expiresAt', 'expires_at'],
    ['POST', '/me/keys', { expire_at: '2027-01-01T00:00:00Z' }, 'expire_at', 'expires_at'],
    ['PUT', '/agents/*/grants', { allowed: ['*'], denid: ['hub:write'] }, 'denid', 'denied'],
    [
      'PUT',
      '/agents/*/grants',
      { allowed: ['*'], requires_approval: [] },
      'requires_approval',
      'require_approval',
    ],
    ['POST', '/invitations', { roles: 'guest' }, 'roles', 'role'],
    [
      'POST',
      '/invitations',
      { role: 'guest', expires_in_day: 1 },
      'expires_in_day',
      'expires_in_days',
    ],
    ['POST', '/runners/keys', { labels: 'x' }, 'labels', 'label'],
    ['POST', '/sessions/link', { nam: 'mira' }, 'nam', 'name'],
    ['POST', '/accounts', { name: 'x-1', rol: 'guest' }, 'rol', 'role'],
    ['POST', '/communities', { name: 'x-1', visiblity: 'private' }, 'visiblity', 'visibility'],
    ['PUT', '/accounts/admin/role', { role: 'guest', Role: 'admin' }, 'Role', 'role'],
  ]
  test.each(cases)('%s %s %j', async (method, path, body, field, meant) => {
    const { status, body: answer } = await hub.call(path, { method, key: adminKey, body })
    expect([status, answer.code]).toEqual([400, 'VALIDATION'])
    expect(answer.details).toContainEqual({
      path: `body.${field}`,
      message: `${field} is not a field. Did you mean ${meant}?`,
    })
  })

  test('T16: a parameter that would have shown a change without saving it', async () => {
    const { status } = await hub.call('/agents/*/grants?dryrun=true', {
      method: 'PUT',
      key: adminKey,
      body: { allowed: ['*'] },
    })
    expect(status).toBe(400)
  })
})

describe('T16: a request that needs no body has no fields', () => {
  const needNone = [...apiRoutes, ...adminRoutes].filter(
    (route) =>
      route.method !== 'get' &&
      !route.body &&
      !('takesImage' in route && route.takesImage) &&
      !('takesDelivery' in route && route.takesDelivery),
  )
  /** With the routes of modules, which the test hub does not have. */
  const whole = composeApp(
    Object.assign({ ...env }, { ROOKERY_ORIGIN: 'http://hub.test', ROOKERY_ADMIN_KEY: adminKey }),
  ).app
  const send = async (path: string, method: string, body: object, type = 'application/json') => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': type }
    const url = `http://hub.test/api/v1${path.replace(/:\w+/g, 'nothing')}`
    const init = { method: method.toUpperCase(), headers, body: JSON.stringify(body) }
    const response = await whole.fetch(new Request(url, init), env, createExecutionContext())
    return {
      status: response.status,
      body: await response.json<{ code: string; details?: object[] }>(),
    }
  }
  test.each(
    needNone.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const),
  )('%s', async (_, { method, path }) => {
    const { status, body } = await send(path, method, { surplus: 1 })
    expect([status, body.code, body.details]).toEqual([
      400,
      'VALIDATION',
      [{ path: 'body.surplus', message: 'surplus is not a field. The request has none.' }],
    ])
    const other = await send(path, method, {}, 'text/plain')
    expect([other.status, other.body.code]).toEqual([415, 'UNSUPPORTED_MEDIA'])
  })

  test('T16: there are many of them', () => expect(needNone.length).toBeGreaterThan(40))

  test('T16: an empty body and an empty object are as good as none', async () => {
    const { body: made } = await hub.call('/communities', {
      method: 'POST',
      key: adminKey,
      body: { name: 'empties' },
    })
    const path = `/communities/${made.community.name}/subscription`
    for (const text of ['', '{}']) {
      const response = await hub.fetch(`/api/v1${path}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: text,
      })
      expect(response.status).toBe(200)
    }
  })

  test('T16: what is not JSON is refused as everywhere', async () => {
    const put = (body: string, type: string) =>
      hub.fetch('/api/v1/communities/empties/subscription', {
        method: 'PUT',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': type },
        body,
      })
    expect((await put('x=1', 'application/x-www-form-urlencoded')).status).toBe(415)
    expect((await put('{', 'application/json')).status).toBe(400)
    expect((await put('[1]', 'application/json')).status).toBe(400)
  })

  test('T16: an existing client may send any body to such an operation', async () => {
    for (const [type, body] of [
      ['application/json', '{"surplus":1}'],
      ['text/plain', 'anything'],
    ] as const) {
      const response = await hub.fetch('/compat/api/v1/submolts/empties/subscribe', {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': type },
        body,
      })
      expect([type, response.status]).toEqual([type, 200])
    }
  })
})

test('T16: an extended object knows its own fields, and one that is near none lists them', () => {
  const message = (schema: z.ZodType, value: object) => {
    const parsed = schema.safeParse(value)
    return parsed.success ? '' : parsed.error.issues[0]?.message
  }
  const base = knownFields({ one: z.string().optional() })
  expect(message(base.extend({ second: z.string().optional() }), { secnd: 1 })).toBe(
    'secnd is not a field. Did you mean second?',
  )
  expect(message(base, { whatever: 1 })).toBe('whatever is not a field. Known fields: one.')
  expect(message(base, { on: 1, whatever: 1 })).toContain('Did you mean one? whatever is not')
})
