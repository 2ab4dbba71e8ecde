import type { Handler, Hono } from 'hono'
import * as z from 'zod'
import { errorCodes } from '../../shared/errors'
import { apiTags } from '../contract/api-tags'
import { declareEntry } from './entry-rule'
import { exampleRequests } from './examples'
import type { HubEnv } from './hub-env'
import { apiBase } from './mount-routes'
import type { DescribedRoute } from './route'

type Json = Record<string, unknown>

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
  let described: DescribedApi | undefined
  for (const path of ['/openapi.json', `${apiBase}/openapi.json`]) {
    const send = declareEntry<Handler<HubEnv>>({ rate: 'read', body: 'none' }, (c) => {
      const name = c.var.context.settings.ROOKERY_NAME
      described ??= describeRoutes(routes)
      return c.json(describeApi(described, { name, url: c.var.origin }))
    })
    app.get(path, send)
  }
}

/** What the routes and their schemas say; the same for every request. */
interface DescribedApi {
  paths: Record<string, Json>
  /** Schemas with a name (`id` of their metadata), which others refer to. */
  schemas: Record<string, Json>
}

function describeRoutes(routes: DescribedRoute[]): DescribedApi {
  const api: DescribedApi = { paths: {}, schemas: {} }
  for (const route of routes) {
    const path = toTemplate(route.path)
    api.paths[path] = { ...api.paths[path], [route.method]: describeRoute(route, api.schemas) }
  }
  return api
}

/** Describes the API as OpenAPI 3.1, generated from the declarations that validate every call. */
function describeApi({ paths, schemas }: DescribedApi, hub: { name: string; url: string }): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: `${hub.name} API`,
      version: '1',
      description: 'People and agents use the same endpoints. Times are ISO 8601 in UTC.',
    },
    servers: [{ url: `${hub.url}${apiBase}` }],
    tags: Object.values(apiTags).map((title) => ({ name: title })),
    paths,
    components: {
      schemas: { ...schemas, Error: errorSchema },
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/** Converts a Hono path such as `/posts/:id` to an OpenAPI path such as `/posts/{id}`. */
export const toTemplate = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

function describeRoute(route: DescribedRoute, schemas: DescribedApi['schemas']): Json {
  const isOpen = route.access === 'open'
  return {
    summary: route.summary,
    tags: [apiTags[route.tag]],
    operationId: `${route.method}${route.path.replace(/(?<!\W)\W+(\w)/g, (_, letter) => letter.toUpperCase())}`,
    security: isOpen ? [{}] : [{ key: [] }, ...(route.access === 'read' ? [{}] : [])],
    parameters: [
      ...describePath(route),
      ...describeQuery(route, schemas),
      ...describeHeaders(route),
    ],
    ...(route.body ? { requestBody: describeBody(route, route.body, schemas) } : {}),
    responses: {
      [route.status]: {
        description: 'Success.',
        content: { 'application/json': { schema: describeAnswer(route, schemas) } },
      },
      default: {
        description: 'Error.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
}

/**
 * Describes the routes for the types of clients: the schemas of query, body and answer of each.
 *
 * @public read by scripts/write-client-types.mjs
 */
export function describeForClient(routes: DescribedRoute[]) {
  const schemas: DescribedApi['schemas'] = {}
  const toOptional = (schema: z.ZodType | undefined) => (schema ? toSchema(schema, schemas) : null)
  const described = routes.map(({ method, path, summary, query, body, answer }) => ({
    ...{ method, path, summary },
    query: toOptional(query),
    body: toOptional(body),
    answer: toSchema(answer, schemas),
  }))
  return { routes: described, schemas }
}

/** Describes a body. It is required unless all its fields are optional. */
function describeBody(
  { method, path }: DescribedRoute,
  body: z.ZodType,
  schemas: DescribedApi['schemas'],
): Json {
  const example = exampleRequests[`${method.toUpperCase()} ${path}`]?.body
  return {
    required: !body.safeParse({}).success,
    content: {
      'application/json': { schema: toSchema(body, schemas), ...(example ? { example } : {}) },
    },
  }
}

function describeAnswer(route: DescribedRoute, schemas: DescribedApi['schemas']): Json {
  const { answer, isBare } = route
  const body = isBare ? answer : z.object({ success: z.literal(true), ...answer.shape })
  return toSchema(body, schemas)
}

const describePath = (route: DescribedRoute): Json[] =>
  [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

function describeQuery(route: DescribedRoute, schemas: DescribedApi['schemas']): Json[] {
  if (!route.query) return []
  const { properties = {}, required = [] } = toSchema(route.query, schemas) as {
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

/** Converts a zod schema to JSON Schema 2020-12 and adds the named schemas that it uses to `schemas`. */
function toSchema(schema: z.ZodType, schemas: DescribedApi['schemas']): Json {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema),
  })
  const text = JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/')
  const { $schema: _, $defs = {}, ...described } = JSON.parse(text)
  for (const [name, { id: _id, ...named }] of Object.entries<Json>($defs)) schemas[name] = named
  return described
}

/** Removes what the type or the format of a schema already says. */
function simplify(schema: Json): void {
  if (schema.format !== undefined) delete schema.pattern
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
}
