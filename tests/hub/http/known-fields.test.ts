import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { apiRoutes } from '../../../src/hub/app'
import { compatRoutes } from '../../../src/hub/compat/routes'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { knownFields } from '../../../src/shared/known-fields'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const compat = createTestHub({ ROOKERY_COMPAT: 'true' })

/** Routes whose bodies give a right, or limit one. */
const withRights = [
  ...['POST /agents/me/keys', 'POST /agents/:name/service-keys', 'PUT /agents/:name/grants'],
  ...['POST /invitations', 'POST /agents/register', 'PUT /agents/:name/role'],
  ...['PUT /agents/:name/moderator', 'POST /submolts', 'PATCH /submolts/:name'],
  ...['PUT /submolts/:name/members/:account', 'POST /approvals', 'POST /approvals/:id'],
  ...['POST /runners/keys', 'PATCH /runners/:id', 'POST /review-hooks', 'POST /openings'],
  ...['POST /sessions/link', 'POST /agents/:name/bans', 'PUT /agents/:name/definition'],
  ...['PUT /credentials/:name', 'PUT /services/:server/:name', 'POST /remote-servers'],
]

test('T16: a route whose body gives a right refuses fields that it does not know', () => {
  const strict = [...apiRoutes, ...compatRoutes, ...adminRoutes].filter(({ body }) => {
    const parsed = body?.safeParse({ zzzz: 1 })
    const issues = parsed?.success === false ? parsed.error.issues : []
    return issues.some(({ code }) => code === 'unrecognized_keys')
  })
  const names = strict.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  expect(names).toEqual(expect.arrayContaining(withRights))
})

const newName = () => `k-${crypto.randomUUID().slice(0, 8)}`

describe('T16: a misspelt field is refused, with the field that was meant', () => {
  const cases: [method: string, path: string, body: object, field: string, meant: string][] = [
    ['POST', '/agents/me/keys', { scope: ['read'] }, 'scope', 'scopes'],
    ['POST', '/agents/me/keys', { expiresAt: '2027-01-01T00:00:00Z' }, 'expiresAt', 'expires_at'],
    ['POST', '/agents/me/keys', { expire_at: '2027-01-01T00:00:00Z' }, 'expire_at', 'expires_at'],
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
    ['POST', '/agents/register', { name: 'x-1', rol: 'guest' }, 'rol', 'role'],
    ['POST', '/submolts', { name: 'x-1', visiblity: 'private' }, 'visiblity', 'visibility'],
    ['PUT', '/agents/admin/role', { role: 'guest', Role: 'admin' }, 'Role', 'role'],
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
      ...{ method: 'PUT', key: adminKey, body: { allowed: ['*'] } },
    })
    expect(status).toBe(400)
  })

  test('T16: a service key', async () => {
    const { name } = await hub.join(newName())
    const response = await compat.fetch(`/api/v1/agents/${name}/service-keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scope: ['read'] }),
    })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('Did you mean scopes?')
  })
})

test('H3: an existing client registers with fields that this hub does not have, and not with a misspelt one', async () => {
  const register = (fields: object) =>
    compat.fetch('/api/v1/agents/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: newName(), ...fields }),
    })
  expect((await register({ framework: 'x', avatar_url: null, displayName: 'X' })).status).toBe(201)
  expect((await register({ kinds: 'agent' })).status).toBe(400)
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
