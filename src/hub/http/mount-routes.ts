import type { Context, Handler, Hono } from 'hono'
import type * as z from 'zod'
import { bodyLimits, limits } from '../../shared/config'
import type { Statements } from '../../shared/db/batch'
import { parseExactJson } from '../../shared/exact-json'
import { omit } from '../../shared/omit'
import { mayNeedReplacing, toStorableJson } from '../../shared/texts'
import type { Credential, Viewer } from '../viewers/queries'
import { requestReader } from '../viewers/reader'
import {
  readCredential,
  readWithViewer,
  requireAdmin,
  requireViewer,
  requireViewerWith,
  toActor,
} from './authenticate'
import { decodeUtf8, requireBodyType, requireSmallJson } from './body-types'
import { bodyLimitsByKind, declareEntry, toEntryRule, unknownPathRule } from './entry-rule'
import { listDetails, toErrorResponse } from './errors'
import { httpErrors } from './http-errors'
import type { HubEnv } from './hub-env'
import { readBoundedBody } from './read-bounded-body'
import type { Call, Route, RouteInput } from './route'

export const apiBase = '/api/v1'

/** Mounts the declared routes on the app below a base; a known path with another method returns 405. */
export function mountRoutes(app: Hono<HubEnv>, routes: Route[], base = apiBase): void {
  for (const route of routes) {
    const handle = declareEntry(toEntryRule(route), (c) => answer(c, route))
    app.on(route.method.toUpperCase(), base + route.path, handle)
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allowed = routes.filter((route) => route.path === path).map(({ method }) => method)
    app.all(base + path, noteAllowed(allowed))
  }
  const refuse = declareEntry<Handler<HubEnv>>(unknownPathRule, (c) => {
    const allowed = c.var.allowed ?? []
    if (allowed.length === 0) return toErrorResponse(c, httpErrors.unknownRoute(c.req.path))
    const heads = allowed.includes('get') ? ['head'] : []
    c.header('allow', [...allowed, ...heads].join(', ').toUpperCase())
    return toErrorResponse(c, httpErrors.methodNotAllowed(c.req.method, allowed))
  })
  app.all(`${base}/*`, refuse)
}

/**
 * Returns a handler that notes the methods of a path for the answer to any other one. A more general path can still
 * match, e.g. GET /posts/:id after /posts/preview.
 */
export const noteAllowed = (methods: readonly string[]): Handler<HubEnv> =>
  declareEntry<Handler<HubEnv>>(unknownPathRule, (c, next) => {
    c.set('allowed', [...new Set([...(c.var.allowed ?? []), ...methods])])
    return next()
  })

async function answer(c: Context<HubEnv>, route: Route): Promise<Response> {
  const { call, found } = await (route.reads ? startWrite(c, route) : startCall(c, route))
  const body = await route.handle(call, found)
  if (body instanceof Response) return body
  return c.json({ success: true, ...body }, route.status)
}

interface StartedCall {
  call: Call<unknown, unknown>
  /** Answers of the route's `reads`. */
  found: object
}

/** Authorizes the caller before the input is validated, so that validation reveals nothing. */
async function startCall(c: Context<HubEnv>, route: Route): Promise<StartedCall> {
  const isForCaller = route.access === 'write' || route.access === 'admin'
  const viewer = isForCaller ? (await authorize(c, route, {})).viewer : null
  const credential = route.access === 'open' ? null : await readCredential(c)
  if (route.access === 'own' && !credential) await requireViewer(c, 'read')
  const input = await parseInput(c, route)
  return { call: createCall(c, route, { viewer, credential, ...input }), found: {} }
}

/**
 * Authorizes the caller in the round trip that reads what the route needs. Input that is not valid has no such
 * reads: its caller is authorized alone, and only then refused for the input.
 */
async function startWrite(c: Context<HubEnv>, route: Route): Promise<StartedCall> {
  const credential = await readCredential(c)
  const input = { ...requestOf(c, credential), ...(await parseInput(c, route)) }
  const { viewer, answers } = await authorize(c, route, route.reads?.(input) ?? {})
  return { call: createCall(c, route, { viewer, credential, ...input }), found: answers }
}

/** Throws unless the caller may use the route, and runs what is read besides. */
async function authorize(
  c: Context<HubEnv>,
  route: Route,
  statements: Statements,
): Promise<{ viewer: Viewer; answers: object }> {
  const isRead = route.method === 'get'
  const isWriting = !isRead && !route.allowsMuted
  const options = { isWriting, allowsBanned: route.allowsBanned }
  const read = await requireViewerWith(c, isRead ? 'read' : 'write', statements, options)
  if (route.access === 'admin') requireAdmin(read.viewer)
  return read
}

type Input = Pick<Call<unknown, unknown>, 'query' | 'body'>

const requestOf = (
  c: Context<HubEnv>,
  credential: Credential | null,
): Pick<RouteInput<unknown, unknown>, 'reader' | 'param'> => ({
  reader: requestReader(credential, c.var.context.clock.now()),
  param: (name) => c.req.param(name) ?? '',
})

function createCall(
  c: Context<HubEnv>,
  route: Route,
  given: Input & { viewer: Viewer | null; credential: Credential | null },
): Call<unknown, unknown> {
  const { viewer, credential, query, body } = given
  const { allowsUnclaimed, allowsBanned } = route
  const getViewer = (): Viewer => {
    if (!viewer) throw new Error(`${route.path} has no viewer: its access must be write or admin`)
    return viewer
  }
  return {
    c,
    context: c.var.context,
    credential,
    ...requestOf(c, credential),
    query,
    body,
    list: nameList(c.req.path, query),
    read: async (statements) => {
      const page = await readWithViewer(c, credential, statements, {
        allowsUnclaimed,
        allowsBanned,
      })
      if (route.access === 'own' && !page.viewer) await requireViewer(c, 'read')
      return page
    },
    viewer: getViewer,
    actor: () => toActor(getViewer(), readIdempotencyKey(c)),
  }
}

/** Parameters that say which page of a list is read, and how. */
const pageParameters = ['cursor', 'limit', 'offset', 'wait']

/** Returns the name of the list that a route reads with a parsed query. */
const nameList = (path: string, query: unknown): string =>
  JSON.stringify([path, omit({ ...(query as object) }, pageParameters as never[])])

/** Parses query and body. Input of a caller that may not use the route is refused for that, not for its form. */
async function parseInput(c: Context<HubEnv>, route: Route): Promise<Input> {
  try {
    const text = route.body && (await readBody(c, route))
    return {
      query: route.query && parse(route.query, readQuery(c), 'query'),
      body: route.body && parse(route.body, text, 'body'),
    }
  } catch (error) {
    if (route.access === 'own') await requireViewer(c, 'read')
    if (route.reads) await authorize(c, route, {})
    throw error
  }
}

/** Returns the query parameters. The first value of a repeated parameter wins; empty values are dropped. */
function readQuery(c: Context<HubEnv>): Record<string, string> {
  return Object.fromEntries(Object.entries(c.req.query()).filter(([, value]) => value !== ''))
}

async function readBody(c: Context<HubEnv>, route: Route): Promise<unknown> {
  const isUpload = route.rate === 'upload'
  const text = isUpload ? await readUpload(c) : await c.req.text()
  if (text === '') return {}
  try {
    // What is uploaded was written elsewhere, with ids of any length; its route reports what it replaces.
    if (isUpload) return parseExactJson(text)
    const value: unknown = JSON.parse(text)
    return mayNeedReplacing(text) ? toStorableJson(value) : value
  } catch (cause) {
    throw httpErrors.malformedJson(cause)
  }
}

/** Reads the body of an upload, after its sender was authenticated. */
async function readUpload(c: Context<HubEnv>): Promise<string> {
  const bytes = await readBoundedBody(c.req.raw, bodyLimitsByKind.upload)
  if (bytes.length > 0) requireBodyType(c, false)
  requireSmallJson(bytes, {
    depthMax: bodyLimits.uploadJsonDepthMax,
    valuesMax: Number.POSITIVE_INFINITY,
  })
  return decodeUtf8(bytes)
}

function parse(schema: z.ZodType, value: unknown, place: string): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const hint = `See ${apiBase}/openapi.json for the fields.`
  throw httpErrors.invalidRequest(listDetails(parsed.error, place), hint)
}

/**
 * Returns the Idempotency-Key of a request; null when it has none.
 *
 * @throws VALIDATION for a key that is too long or not printable ASCII
 */
export function readIdempotencyKey(c: Context<HubEnv>): string | null {
  const key = c.req.header('idempotency-key')
  if (key === undefined || key === '') return null
  if (key.length <= limits.idempotencyKeyCharsMax && /^[\x20-\x7e]+$/.test(key)) return key
  throw httpErrors.invalidIdempotencyKey()
}
