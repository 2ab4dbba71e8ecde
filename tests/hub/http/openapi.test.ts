import { expect, test } from 'vitest'
import * as z from 'zod'
import { apiRoutes } from '../../../src/hub/app'
import { toTemplate } from '../../../src/hub/http/openapi'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { createTestHub } from '../create-test-hub'

interface Schema {
  properties?: Record<string, unknown>
  required?: string[]
}

interface Content {
  content: Record<string, { schema: Schema }>
}

interface Api {
  paths: Record<
    string,
    Record<
      string,
      { requestBody?: Content & { required: boolean }; responses: Record<string, Content> }
    >
  >
  components: { schemas: Record<string, unknown> }
}

const hub = createTestHub()
const readDocument = async () => (await (await hub.fetch('/openapi.json')).json()) as never

test('H17: every route that the hub serves is in the document, and nothing else', async () => {
  const document: { paths: Record<string, Record<string, unknown>> } = await readDocument()
  const served = hub.app.routes
    .filter(
      ({ method, path }) =>
        method !== 'ALL' && path.startsWith('/api/v1/') && !path.endsWith('openapi.json'),
    )
    .map(({ method, path }) => `${method} ${toTemplate(path.slice('/api/v1'.length))}`)
  const written = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(new Set(written)).toEqual(new Set(served))
  expect(written.length).toBeGreaterThan(30)
})

test('H17: the document is OpenAPI 3.1 with the fields and limits that validate', async () => {
  const document: {
    openapi: string
    servers: unknown
    paths: Record<
      string,
      Record<
        string,
        {
          requestBody: { content: Record<string, { schema: unknown }> }
          parameters: unknown[]
          operationId: string
        }
      >
    >
  } = await readDocument()
  expect(document.openapi).toBe('3.1.0')
  expect(document.servers).toEqual([{ url: 'http://hub.test/api/v1' }])
  const post = document.paths['/posts']?.post
  expect(post?.requestBody.content['application/json']?.schema).toMatchObject({
    properties: { title: { maxLength: 300 }, content: { maxLength: 40_000 } },
    required: ['community'],
  })
  expect(post?.requestBody.content['application/json']).toMatchObject({
    example: { community: 'general' },
  })
  const feed = document.paths['/feed']?.get
  expect(feed?.parameters).toContainEqual(expect.objectContaining({ name: 'limit', in: 'query' }))
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  )
  expect(new Set(ids).size).toBe(ids.length)
})

/** Returns the names of the fields of a schema that are booleans, at any depth. */
function listBooleans(schema: unknown, name = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { type, const: value, properties } = schema as Record<string, unknown>
  const own = type === 'boolean' || typeof value === 'boolean' ? [name] : []
  const fields = Object.entries(properties ?? {}).flatMap(([field, each]) =>
    listBooleans(each, field),
  )
  const parts = Object.entries(schema).flatMap(([part, each]) =>
    part === 'properties'
      ? []
      : listBooleans(each, Array.isArray(schema) || /Of$/.test(part) ? name : part),
  )
  return [...own, ...fields, ...parts]
}

test('H17: a boolean of an answer begins with is_, has_ or can_, unless it is a setting', async () => {
  const document: Api = await readDocument()
  const answers = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ responses }) => responses),
  )
  const names = new Set(listBooleans([answers, document.components.schemas]))
  /** What somebody set, and what a model, a call or a server needs or says of itself. */
  const settings = new Set([
    'allow_http',
    'allow_private',
    'allows_critical',
    'follow_threads',
    'takes_reviews',
    'needs_key',
    'needs_human_input',
    'says_read_only',
    'success',
    // What a check of a case asks for: a text, a number, or whether the agent refuses.
    'value',
    // As services that send webhooks know it.
    'accepted',
  ])
  expect(names.size).toBeGreaterThan(30)
  expect([...names].filter((name) => !/^(is|has|can)_/.test(name) && !settings.has(name))).toEqual(
    [],
  )
})

test('H17: every route has a summary', () => {
  for (const route of apiRoutes) {
    expect(route.summary, route.path).toMatch(/^[A-Z].{5,}/)
  }
})

test('H17: the skill page uses the address of this hub and paths that exist', async () => {
  const text = await (await hub.fetch('/skill.md')).text()
  const patterns = apiRoutes.map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`))
  const paths = [...text.matchAll(/http:\/\/hub\.test\/api\/v1(\/[\w/-]+)/g)].map(
    ([, path]) => path ?? '',
  )
  expect(paths.length).toBeGreaterThan(6)
  for (const path of paths)
    expect(
      patterns.some((pattern) => pattern.test(path)),
      path,
    ).toBe(true)
})

const described = [...apiRoutes, ...adminRoutes]

test('H17: a body is required unless all its fields are optional', async () => {
  const document: Api = await readDocument()
  for (const { method, path, body, takesImage, takesDelivery } of apiRoutes) {
    const operation = document.paths[toTemplate(path)]?.[method]
    expect(operation?.requestBody?.required, `${method} ${path}`).toBe(
      takesImage || takesDelivery || (body && !body.safeParse({}).success),
    )
  }
  expect(document.paths['/posts']?.post?.requestBody?.required).toBe(true)
  expect(document.paths['/conversations/requests/{id}/reject']?.post?.requestBody?.required).toBe(
    false,
  )
})

test('H17: the required fields of a body are those that an empty body lacks', async () => {
  const document: Api = await readDocument()
  for (const { method, path, body } of apiRoutes) {
    const operation = document.paths[toTemplate(path)]?.[method]
    const schema = operation?.requestBody?.content['application/json']?.schema
    if (!body || !schema?.properties) continue
    const lacking = (body.safeParse({}).error?.issues ?? [])
      .filter(({ code }) => code !== 'custom')
      .map(({ path }) => String(path[0]))
    expect(new Set(schema.required), `${method} ${path}`).toEqual(new Set(lacking))
  }
})

test('H17: every answer has a schema with its status, and every reference resolves', async () => {
  const document: Api = await readDocument()
  for (const { method, path, status, isBare } of apiRoutes) {
    const title = `${method} ${path}`
    const response = document.paths[toTemplate(path)]?.[method]?.responses[status]
    const schema = response?.content['application/json']?.schema
    const fields = Object.keys(schema?.properties ?? {})
    expect(fields.length, title).toBeGreaterThan(0)
    expect(schema?.required?.includes('success'), title).toBe(!isBare)
  }
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)]
  expect(references.length).toBeGreaterThan(50)
  for (const [, reference = ''] of references) {
    const name = reference.replace('#/components/schemas/', '')
    expect(Object.keys(document.components.schemas)).toContain(name)
  }
})

test('H17: a named schema is the same wherever it is used', () => {
  const named = new Map<string, unknown>()
  for (const { answer, path } of described) {
    const { $defs = {} } = z.toJSONSchema(answer, { io: 'input', unrepresentable: 'any' })
    for (const [name, schema] of Object.entries($defs)) {
      expect(named.get(name) ?? schema, `${name} of ${path}`).toEqual(schema)
      named.set(name, schema)
    }
  }
  expect(named.size).toBeGreaterThan(20)
})
