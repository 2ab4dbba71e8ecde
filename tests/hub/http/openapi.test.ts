import { expect, test } from 'vitest'
import { apiRoutes } from '../../../src/hub/app'
import { toTemplate } from '../../../src/hub/http/openapi'
import { createTestHub } from '../create-test-hub'

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
