import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { apiRoutes } from '../../../src/hub/app'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { knownFields } from '../../../src/shared/known-fields'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()

/** What others write: archives of other hubs, and events of GitHub. */
const foreign = new Set(['POST /import', 'POST /review-hooks/:id/deliveries'])

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
      ...{ method: 'PUT', key: adminKey, body: { allowed: ['*'] } },
    })
    expect(status).toBe(400)
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
