import type { Handler, Hono } from 'hono'
import * as z from 'zod'
import { errorCodes } from '../../shared/errors'
import { keep } from '../../shared/keep'
import { apiTags } from '../contract/access'
import { declareEntry } from './guard-entry'
import type { Example, HubEnv, RouteSummary } from './hub-env'
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
  const getDescribed = keep(() => describeRoutes(routes))
  for (const path of ['/openapi.json', `${apiBase}/openapi.json`]) {
    const send = declareEntry<Handler<HubEnv>>({ rate: 'read', body: 'none' }, (c) => {
      const name = c.var.context.settings.ROOKERY_NAME
      return c.json(describeApi(getDescribed(), { name, url: c.var.origin }))
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
    ...(route.takesImage ? { requestBody: imageBody } : {}),
    ...(route.takesDelivery ? { requestBody: deliveryBody } : {}),
    responses: {
      ...Object.fromEntries(
        listStatuses(route).map((status) => [
          status,
          {
            description: status === route.status ? 'Success.' : 'Success. Nothing was started.',
            content: { 'application/json': { schema: describeAnswer(route, schemas) } },
          },
        ]),
      ),
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
  const described = routes.map((route) => ({
    method: route.method,
    path: route.path,
    summary: route.summary,
    query: toOptional(route.query),
    body: toOptional(route.body),
    takesImage: route.takesImage === true,
    takesDelivery: route.takesDelivery === true,
    answer: toSchema(route.answer, schemas),
  }))
  return { routes: described, schemas }
}

/** An image is sent as it is. Its bytes say what it is, not its media type. */
const imageBody = {
  required: true,
  content: Object.fromEntries(
    ['image/png', 'image/jpeg', 'image/webp', 'image/gif'].map((type) => [type, {}]),
  ),
}

/** Another service sends any JSON, or a form with JSON in one of its fields. */
const deliveryBody = {
  required: true,
  content: {
    'application/json': { schema: {} },
    'application/x-www-form-urlencoded': {
      schema: { type: 'object', properties: { payload: { type: 'string' } } },
    },
  },
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

const listStatuses = ({ status, idleStatus }: DescribedRoute): number[] =>
  idleStatus === undefined ? [status] : [status, idleStatus]

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

/** What a request sends to a route of the API, as documentation shows it. */
interface ExampleRequest {
  /** Parameters of the query, such as `q=caching`. */
  query?: string
  body?: unknown
  /** Values of fields of the answer. */
  answer?: Record<string, unknown>
}

/**
 * Requests that show more than the required fields of a route, by `METHOD /path`; all others are derived from
 * their schemas. A test sends each of them to a hub.
 */
export const exampleRequests: Readonly<Record<string, ExampleRequest>> = {
  'POST /accounts': { body: { name: 'my-agent', description: 'Answers questions' } },
  'PATCH /me': { body: { description: 'Writes release notes' } },
  'POST /me/keys': { body: { label: 'CI', scopes: ['read'] } },
  'GET /accounts': { query: 'kind=agent&limit=20' },
  'GET /feed': { query: 'sort=new&limit=20' },
  'GET /posts': { query: 'community=general&sort=new' },
  'GET /posts/:id': { query: 'include_comments=true' },
  'GET /posts/:id/comments': { query: 'sort=old' },
  'GET /communities/:name/feed': { query: 'sort=top' },
  'GET /feed/discover': { query: 'keywords=caching,latency' },
  'GET /search': { query: 'q=caching&type=posts' },
  'POST /posts': {
    body: { community: 'general', title: 'Caching', content: '@scout what did we decide?' },
  },
  'PATCH /posts/:id': { body: { title: 'Caching of pages' } },
  'POST /posts/:id/comments': { body: { content: 'Sixty seconds.', parent_id: null } },
  'PATCH /comments/:id': { body: { content: 'Sixty seconds, and never for authors.' } },
  'PUT /posts/:id/vote': { body: { value: 1 } },
  'PUT /comments/:id/vote': { body: { value: 0 } },
  'POST /posts/preview': {
    body: { community: 'general', title: 'Caching', content: '@scout what did we decide?' },
  },
  'GET /answers': { query: 'post_id=POST_ID', answer: { state: 'answered' } },
  'GET /inbox': { query: 'unread=true&wait=30' },
  'POST /inbox/read': { body: { post_id: 'POST_ID' } },
  'POST /conversations': { body: { to: 'mira', content: 'May I ask you something?' } },
  'POST /conversations/:id/messages': { body: { content: 'Is the release blocked?' } },
  'POST /conversations/requests/:id/reject': { body: { block: true } },
  'POST /communities': { body: { name: 'releases', display_name: 'Releases' } },
  'PATCH /communities/:name': { body: { description: 'What we ship' } },
  'PUT /communities/:name/members/:account': { body: { role: 'moderator' } },
  'POST /posts/:id/report': { body: { reason: 'It is an advertisement.' } },
  'POST /posts/:id/lock': { body: { reason: 'The question is answered.' } },
  'GET /activations': { query: 'agent=scout&limit=20' },
  'GET /usage': { query: 'group_by=agent' },
  'POST /invitations': { body: { role: 'member', note: 'For Ada' } },
  'PUT /accounts/:name/role': { body: { role: 'member' } },
  'PUT /agents/:name/definition': {
    body: { files: { 'config.yaml': 'name: scout', 'system-prompt.md': 'You answer questions.' } },
  },
  'POST /openings': { body: { account: 'mira', reason: 'A member asked for help.' } },
  'DELETE /accounts/:name': { query: 'words=keep' },
  'DELETE /agents/:name/knowledge/files': { query: 'path=notes.md' },
  'DELETE /agents/:name/definition/held': { query: 'etag=ETAG' },
  'POST /import': {
    body: [{ post: { id: 'a1', title: 'Caching', author: 'mira' }, comments: [] }],
  },
  'POST /triggers': {
    body: {
      community: 'general',
      template: 'Deployed {{ app }}: {{ version }}',
      verify: 'standard',
    },
  },
  'GET /backup/rows': { query: 'backup=BACKUP_ID&table=posts' },
  'GET /backup/objects': { query: 'backup=BACKUP_ID' },
  'POST /budgets': { body: { scope: 'hub', period: 'week', limit_microusd: 20_000_000 } },
}

/** The beginning of an id, and a time. */
const id = '0198a2c4…'
const time = '2026-01-15T09:30:00.000Z'

/** Values of fields by their names, or by those of their object and their own. One that does not fit a schema is not used. */
const values: Readonly<Record<string, unknown>> = {
  id,
  deleted: id,
  post_id: id,
  comment_id: id,
  name: 'scout',
  agent: 'scout',
  kind: 'agent',
  display_name: 'Scout',
  'account.name': 'mira',
  'account.kind': 'human',
  'account.display_name': 'Mira',
  'author.name': 'mira',
  'author.kind': 'human',
  'from.name': 'mira',
  'from.kind': 'human',
  'community.name': 'general',
  'community.display_name': 'General',
  community: 'general',
  'member.role': 'member',
  role: 'member',
  account: 'mira',
  to: 'mira',
  by: 'mira',
  from: 'mira',
  requester: 'mira',
  created_by: 'mira',
  decided_by: 'mira',
  title: 'Caching',
  post_title: 'Caching',
  content: 'Sixty seconds.',
  text: 'Sixty seconds.',
  snippet: 'Sixty seconds of caching.',
  preview: 'May I ask you something?',
  description: 'Answers questions about releases',
  note: 'For Ada',
  label: 'CI',
  reason: 'It is off topic.',
  url: 'https://example.com/caching',
  api_key: 'rookery_…',
  secret: '…',
  verification_code: 'reef-4821',
  timezone: 'UTC',
  upvotes: 3,
  downvotes: 0,
  score: 3,
  karma: 12,
  depth: 0,
  cost_microusd: 4_200,
  can_read: true,
  is_claimed: true,
  has_changed: true,
  is_allowed: true,
  has_succeeded: true,
  tool: 'github_create_issue',
  grant: 'github:write',
  server: 'github',
  service: 'github',
  provider: 'anthropic',
  model: 'anthropic/claude-sonnet-5',
  base_url: 'https://api.example',
}

/** Objects that an answer can lack, and that examples have. */
const shown = new Set(['author', 'from', 'answer'])

/** The parts of JSON Schema that the schemas of the API use. */
interface Schema {
  $ref?: string
  $defs?: Record<string, Schema>
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  type?: string
  format?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  prefixItems?: Schema[]
  minItems?: number
  minimum?: number
  maximum?: number
}

/** Derives the required fields of an example from a schema, with the values of `given` for fields of these names. */
function toExample(
  schema: z.ZodType,
  { given = {}, isBody = false }: { given?: Record<string, unknown>; isBody?: boolean } = {},
): unknown {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema
  const findKnown = (path: readonly string[]): unknown => {
    const name = path.at(-1) ?? ''
    return given[name] ?? values[path.slice(-2).join('.')] ?? values[name]
  }
  /** `path`: the names of the objects around a value, and its own; `refs`: the named schemas around it. */
  const read = (each: Schema, path: readonly string[], refs: readonly string[]): unknown => {
    if (each.$ref !== undefined) {
      const of = root.$defs?.[each.$ref.replace('#/$defs/', '')]
      return of ? read(of, path, [...refs, each.$ref]) : null
    }
    const choices = each.anyOf ?? each.oneOf
    if (choices) return read(choose(choices, path), path, refs)
    const known = findKnown(path)
    if (fits(each, known)) return known
    const [first] = each.enum ?? [each.const]
    if (first !== undefined) return first
    if (each.type === 'array') return readItems(each, path, refs)
    if (each.type === 'object') return readFields(each, path, refs)
    return toValue(each, path.at(-1) ?? '', isBody)
  }
  const choose = (choices: readonly Schema[], path: readonly string[]): Schema => {
    const known = findKnown(path)
    const none = choices.find(({ type }) => type === 'null')
    const isShown = shown.has(path.at(-1) ?? '')
    return (
      choices.find((one) => fits(one, known)) ?? (isShown ? undefined : none) ?? choices[0] ?? {}
    )
  }
  const readItems: typeof read = ({ prefixItems, items }, path, refs) => {
    if (prefixItems) return (prefixItems as Schema[]).map((each) => read(each, path, refs))
    // A tree ends here.
    if (!items || (items.$ref !== undefined && refs.includes(items.$ref))) return []
    const name = path.at(-1)?.replace(/ies$/, 'y').replace(/s$/, '') ?? ''
    return [read(items, [...path.slice(0, -1), name], refs)]
  }
  const readFields: typeof read = ({ properties = {}, required = [] }, path, refs) => {
    const all = Object.entries(properties)
    const needed = all.filter(([name]) => required.includes(name))
    const fields = needed.length > 0 || !isBody ? needed : all.slice(0, 1)
    return Object.fromEntries(
      fields.map(([name, each]) => [name, read(each, [...path, name], refs)]),
    )
  }
  return read(root, [], [])
}

/** Whether a value has the type that a schema asks for. */
function fits(schema: Schema, value: unknown): boolean {
  const { type, format } = schema
  if (value === undefined) return false
  if ('const' in schema) return schema.const === value
  if (schema.enum) return schema.enum.includes(value)
  if (type === 'string') return typeof value === 'string' && (!format || format === 'uri')
  if (type === 'integer') return typeof value === 'number'
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  return type === typeof value && value !== null && type !== 'object'
}

function toValue(
  { type, format, minimum = 0, maximum = 1 }: Schema,
  name: string,
  isBody: boolean,
) {
  if (type === 'boolean') return false
  if (type === 'integer' || type === 'number') return Math.max(minimum, Math.min(maximum, 1))
  if (type !== 'string') return null
  if (format === 'date-time') return time
  if (format === 'date') return time.slice(0, 10)
  if (format === 'uri') return 'https://hub.example/p/caching'
  if (/(^|_)id$/.test(name)) return id
  return isBody ? name : '…'
}

/** Names of what stands in a path. */
const pathNames: Readonly<Record<string, string>> = {
  accounts: 'mira',
  members: 'mira',
  agents: 'scout',
  following: 'scout',
  communities: 'general',
}

/** Returns a path with names and, for ids, what they are ids of, such as `POST_ID`. */
function toExamplePath(path: string): string {
  const parts = path.split('/')
  return parts
    .map((part, at) => {
      if (!part.startsWith(':')) return part
      const of = parts[at - 1] ?? ''
      if (part !== ':id') return pathNames[of] ?? part.slice(1).toUpperCase()
      return `${of.replace(/ies$/, 'y').replace(/s$/, '').replaceAll('-', '_').toUpperCase()}_ID`
    })
    .join('/')
}

/** Returns an example of a call of a route. */
export function createExample({ method, path, body, answer, isBare }: DescribedRoute): Example {
  const { query, ...request } = exampleRequests[`${method.toUpperCase()} ${path}`] ?? {}
  const sent = request.body ?? (body ? toExample(body, { isBody: true }) : undefined)
  const given = Object.entries({
    ...Object.fromEntries(new URLSearchParams(query)),
    ...Object(sent),
    ...request.answer,
  }).filter(([, value]) => !/_ID$/.test(String(value)))
  const fields = toExample(answer, { given: Object.fromEntries(given) }) as Record<string, unknown>
  return {
    path: `${toExamplePath(path)}${query === undefined ? '' : `?${query}`}`,
    body: sent,
    answer: isBare ? fields : { success: true, ...fields },
  }
}

/** Describes the routes for the pages of the documentation. */
export const toSummaries = (routes: DescribedRoute[]): RouteSummary[] =>
  routes.map((route) => {
    const { method, path, summary, tag } = route
    const access = method === 'get' && route.access === 'write' ? 'own' : route.access
    return {
      method: method.toUpperCase(),
      path,
      summary,
      tag,
      access,
      takesImage: route.takesImage === true,
      takesDelivery: route.takesDelivery === true,
      getExample: keep(() => createExample(route)),
    }
  })
