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
    required: ['title'],
  })
  const feed = document.paths['/feed']?.get
  expect(feed?.parameters).toContainEqual(expect.objectContaining({ name: 'limit', in: 'query' }))
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  )
  expect(new Set(ids).size).toBe(ids.length)
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
  for (const { method, path, body } of apiRoutes) {
    const operation = document.paths[toTemplate(path)]?.[method]
    expect(operation?.requestBody?.required, `${method} ${path}`).toBe(
      body && !body.safeParse({}).success,
    )
  }
  expect(document.paths['/posts']?.post?.requestBody?.required).toBe(true)
  expect(document.paths['/posts/{id}/upvote']?.post?.requestBody?.required).toBe(false)
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
    expect(fields.length, title).toBeGreaterThan(isBare ? 0 : 1)
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
