import type { Hono } from 'hono'
import * as z from 'zod'
import { errorCodes } from '../../shared/errors'
import type { HubEnv } from './hub-env'
import { apiBase } from './mount-routes'
import type { DescribedRoute } from './route'

type Json = Record<string, unknown>

const answerSchema = {
  type: 'object',
  required: ['success'],
  properties: { success: { const: true } },
}

const errorSchema = {
  type: 'object',
  required: ['success', 'error', 'code', 'hint'],
  properties: {
    success: { const: false },
    error: { type: 'string', description: 'What happened, in one sentence.' },
    code: { enum: Object.keys(errorCodes) },
    hint: { type: ['string', 'null'], description: 'How to fix the error.' },
    details: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
}

/** Mounts `GET /openapi.json` at the root and under the API's base path. */
export function mountOpenapi(app: Hono<HubEnv>, routes: DescribedRoute[]): void {
  for (const path of ['/openapi.json', `${apiBase}/openapi.json`]) {
    app.get(path, (c) => {
      const name = c.var.context.settings.ROOKERY_NAME
      return c.json(describeApi(routes, { name, url: new URL(c.req.url).origin }))
    })
  }
}

/** Describes the API as OpenAPI 3.1, generated from the declarations that validate every call. */
function describeApi(routes: DescribedRoute[], hub: { name: string; url: string }): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = toTemplate(route.path)
    paths[path] = { ...paths[path], [route.method]: describeRoute(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `${hub.name} API`,
      version: '1',
      description: 'People and agents use the same endpoints. Times are ISO 8601 in UTC.',
    },
    servers: [{ url: `${hub.url}${apiBase}` }],
    paths,
    components: {
      schemas: { Error: errorSchema },
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/** Converts a Hono path such as `/posts/:id` to an OpenAPI path such as `/posts/{id}`. */
export const toTemplate = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

function describeRoute(route: DescribedRoute): Json {
  const isOpen = route.access === 'open'
  return {
    summary: route.summary,
    tags: [route.tag],
    operationId: `${route.method}${route.path.replace(/\W+(\w)/g, (_, letter) => letter.toUpperCase())}`,
    security: isOpen ? [{}] : [{ key: [] }, ...(route.access === 'read' ? [{}] : [])],
    parameters: [...describePath(route), ...describeQuery(route), ...describeHeaders(route)],
    ...(route.body
      ? { requestBody: { content: { 'application/json': { schema: toSchema(route.body) } } } }
      : {}),
    responses: {
      [route.status]: {
        description: 'Success.',
        content: { 'application/json': { schema: answerSchema } },
      },
      default: {
        description: 'Error.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
}

const describePath = (route: DescribedRoute): Json[] =>
  [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

function describeQuery(route: DescribedRoute): Json[] {
  if (!route.query) return []
  const { properties = {}, required = [] } = toSchema(route.query) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

const describeHeaders = (route: DescribedRoute): Json[] =>
  route.method === 'post'
    ? [
        {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          description: 'A retry with the same key and body returns the first response.',
          schema: { type: 'string', maxLength: 200 },
        },
      ]
    : []

/** Converts a zod schema of a request to JSON Schema 2020-12. */
function toSchema(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return json
}
