import fc from 'fast-check'

/** The parts of JSON Schema that `/openapi.json` uses. */
interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  items?: Schema
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
  maxLength?: number
  pattern?: string
  format?: string
}

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Schema
}

export interface Operation {
  parameters: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

export interface GeneratedRequest {
  method: string
  /** Below the API's base path. */
  path: string
  headers: Record<string, string>
  body: string | null
}

const dangerous = [
  '',
  ' ',
  '\0',
  '0',
  '-1',
  'null',
  '%00',
  '../../admin',
  "'; DROP TABLE posts; --",
  '" OR 1=1',
  '<script>alert(1)</script>',
  '{{7*7}}',
  '😀',
  '\ud800',
  '\u202e',
  'e\u0301',
  'NaN',
  '1e999',
  '*',
  '@',
  '@admin',
  'm/general',
  '2026-01-01',
  '2026-01-01T00:00:00Z',
  'https://example.com/',
  'file:///etc/passwd',
  'toString',
  '__proto__',
  'constructor',
  'AND OR NOT NEAR(',
  'a'.repeat(300),
]

const repeated = (length: number) =>
  fc.constantFrom('x', '"', '[', 'é', '😀 ').map((c) => c.repeat(length))

/** Any JSON, with numbers and nesting at the limits. */
const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...dangerous),
  fc.constantFrom<unknown>(null, true, [], {}, -0, 1e308, -1, 0.5, 2 ** 53, '9'.repeat(40)),
  fc.jsonValue({ maxDepth: 3 }),
)

/** Returns an arbitrary of values that fit a schema; most of them are valid. */
function toArbitrary(
  schema: Schema,
  api: OpenApi,
  ids: fc.Arbitrary<string>,
): fc.Arbitrary<unknown> {
  const recur = (each: Schema) => toArbitrary(each, api, ids)
  if (schema.$ref) {
    const named = api.components.schemas[schema.$ref.replace('#/components/schemas/', '')]
    return named ? recur(named) : junk
  }
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return fc.oneof(...choices.map(recur))
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'string') return toTexts(schema, ids)
  if (type === 'integer' || type === 'number') return toNumbers(schema)
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'array') {
    const maxLength = Math.min(schema.maxItems ?? 4, 4)
    return fc.array(schema.items ? recur(schema.items) : junk, {
      minLength: Math.min(schema.minItems ?? 0, maxLength),
      maxLength,
    })
  }
  if (type === 'object' || schema.properties) return toObjects(schema, recur)
  return junk
}

function toTexts(schema: Schema, ids: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const { maxLength = 200, format, pattern } = schema
  if (format === 'uri') return fc.webUrl()
  if (format === 'date') return fc.constantFrom('2026-01-01', '2026-11-22', '2024-02-29')
  if (format === 'date-time') return fc.constantFrom('2026-01-01T00:00:00Z')
  const word = fc.stringMatching(/^[a-z][a-z0-9]{1,12}$/)
  if (pattern) return fc.oneof(word, ids)
  const brim = repeated(1).map((c) => c.repeat(maxLength).slice(0, maxLength))
  return fc.oneof(
    { weight: 4, arbitrary: ids },
    { weight: 3, arbitrary: word },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: Math.min(maxLength, 60) }) },
    { weight: 1, arbitrary: brim },
    { weight: 1, arbitrary: fc.constantFrom(...dangerous) },
  )
}

function toNumbers({ minimum = -1_000, maximum = 1_000_000, type }: Schema) {
  const [min, max] = [Math.max(minimum, -(2 ** 53)), Math.min(maximum, 2 ** 53 - 1)]
  return type === 'integer'
    ? fc.oneof(fc.integer({ min, max: Math.min(max, min + 50) }), fc.constantFrom(min, max))
    : fc.double({ min, max, noNaN: true })
}

function toObjects(schema: Schema, recur: (each: Schema) => fc.Arbitrary<unknown>) {
  const { properties = {}, required = [], additionalProperties } = schema
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, recur(each)]),
  )
  // many a field that need not be there fits only with others, so some bodies have none of these
  const needed = Object.fromEntries(
    required.flatMap((name) => (fields[name] ? [[name, fields[name]]] : [])),
  )
  const known = fc.oneof(fc.record(fields, { requiredKeys: required }), fc.record(needed))
  if (!additionalProperties) return known
  const more = fc.dictionary(
    fc.stringMatching(/^[a-z.-]{1,12}$/),
    additionalProperties === true ? junk : recur(additionalProperties),
    { maxKeys: 3 },
  )
  return fc.tuple(more, known).map(([extra, given]) => ({ ...extra, ...given }))
}

/** Replaces one field of a body by something else, removes it, or adds one. */
const mutate = (body: unknown): fc.Arbitrary<unknown> => {
  const fields = typeof body === 'object' && body !== null ? Object.keys(body) : []
  const names = [...fields, 'id', 'agent_id', 'role', 'account_id', '__proto__']
  return fc
    .tuple(fc.constantFrom(...names), junk, fc.boolean())
    .map(([name, value, isRemoved]) =>
      isRemoved
        ? Object.fromEntries(Object.entries(body ?? {}).filter(([key]) => key !== name))
        : { ...(body as object), [name]: value },
    )
}

/** Bodies that no schema describes: broken, nested deeply, or larger than any limit. */
const hostileText = fc.oneof(
  { weight: 3, arbitrary: junk.map((value) => JSON.stringify(value) ?? '') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '',
      '{',
      '[',
      '"',
      '{"a":1}}',
      '\ufeff{}',
      '{"title":"\\ud800"}',
      'a=b',
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(100, 5_000, 100_000), fc.constantFrom('[', '{"a":'))
      .map(([depth, open]) => open.repeat(depth)),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(200, 20_000)
      .map((depth) => `{"title":${'['.repeat(depth)}${']'.repeat(depth)}}`),
  },
  { weight: 1, arbitrary: repeated(3_000_000).map((text) => JSON.stringify({ title: text })) },
)

const toText = (body: unknown): string => JSON.stringify(body) ?? 'null'

function toBody(operation: Operation, api: OpenApi, ids: fc.Arbitrary<string>) {
  const schema = operation.requestBody?.content['application/json']?.schema
  const valid = schema ? toArbitrary(schema, api, ids) : fc.constant<unknown>({})
  return fc.oneof(
    { weight: 6, arbitrary: valid.map(toText) },
    { weight: 3, arbitrary: valid.chain(mutate).map(toText) },
    { weight: 1, arbitrary: hostileText },
  )
}

/** Percent-encodes what can be encoded: a lone surrogate cannot. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())

function toQuery(parameters: Parameter[], api: OpenApi, ids: fc.Arbitrary<string>) {
  const inQuery = parameters.filter((each) => each.in === 'query')
  const requiredKeys = inQuery.filter(({ required }) => required).map(({ name }) => name)
  const fields = Object.fromEntries(
    inQuery.map(({ name, schema }) => [name, toArbitrary(schema, api, ids)]),
  )
  const needed = requiredKeys.flatMap((name) => (fields[name] ? [[name, fields[name]]] : []))
  // as of bodies: many a parameter fits only with others
  const known = fc.oneof(
    fc.record(fields, { requiredKeys }),
    fc.record(Object.fromEntries(needed) as typeof fields),
  )
  const wrong = fc.dictionary(
    fc.constantFrom(...inQuery.map(({ name }) => name), 'cursor', 'agent_id'),
    fc.constantFrom(...dangerous),
    { maxKeys: 2 },
  )
  return fc
    .tuple(known, fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, wrong))
    .map(([given, replaced]) =>
      Object.entries({ ...given, ...replaced })
        .map(([name, value]) => `${encode(name)}=${encode(String(value))}`)
        .join('&'),
    )
}

const otherHeaders = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Record<string, string>>({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      { 'idempotency-key': 'one' },
      { 'idempotency-key': 'x'.repeat(300) },
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'x-request-id': '<b>' },
      { accept: 'text/html' },
    ),
  },
)

/**
 * Returns an arbitrary of requests to the API that a document describes: valid ones, mutated ones, and
 * hostile ones.
 *
 * @param known ids and names that exist, of everybody's things
 */
export function generateRequest(api: OpenApi, known: string[]): fc.Arbitrary<GeneratedRequest> {
  const ids = fc.constantFrom(...known)
  const isId = (text: string) => /^[0-9a-f-]{36}$/.test(text)
  /** What exists and fits a parameter of a path: names are no ids. */
  const fitting = (name: string) =>
    fc.constantFrom(...known.filter((each) => isId(each) === /(^|_)id$/.test(name)))
  const operations = Object.entries(api.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ template, method, operation })),
  )
  return fc.constantFrom(...operations).chain(({ template, method, operation }) => {
    const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
    const params = fc.tuple(
      ...names.map((name) =>
        fc.oneof(
          { weight: 6, arbitrary: fitting(name) },
          { weight: 2, arbitrary: ids },
          { weight: 1, arbitrary: fc.constantFrom(...dangerous) },
        ),
      ),
    )
    const body =
      method === 'get' || (method === 'delete' && !operation.requestBody)
        ? fc.constant(null)
        : toBody(operation, api, ids)
    return fc
      .tuple(params, toQuery(operation.parameters, api, ids), body, otherHeaders)
      .map(([given, query, text, headers]) => {
        const path = template.replace(/\{\w+\}/g, () => encode(given.shift() ?? ''))
        return {
          method: method.toUpperCase(),
          path: query ? `${path}?${query}` : path,
          headers: text === null ? headers : { 'content-type': 'application/json', ...headers },
          body: text,
        }
      })
  })
}
