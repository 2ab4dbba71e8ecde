import type { Context, Handler, Hono } from 'hono'
import type * as z from 'zod'
import { bodyLimits, limits } from '../../shared/config'
import type { Statements } from '../../shared/db/batch'
import { parseExactJson } from '../../shared/exact-json'
import { noFields } from '../../shared/known-fields'
import { omit } from '../../shared/omit'
import { mayNeedReplacing, toStorableJson } from '../../shared/texts'
import type { Sender } from '../contract/access'
import type { ModuleRoute, RequestCounts } from '../contract/hub'
import type { Credential, Viewer } from '../viewers/queries'
import { requestReader } from '../viewers/reader'
import {
  readCredential,
  readWithViewer,
  requireAdmin,
  requireAdminSender,
  requireSession,
  requireViewer,
  requireViewerWith,
  toActor,
} from './authenticate'
import { decodeUtf8, readBoundedBody, requireBodyType, requireSmallJson } from './bodies'
import { httpErrors, listDetails, toErrorResponse } from './errors'
import {
  bodyLimitsByKind,
  declareEntry,
  type EntryRule,
  toEntryRule,
  unknownPathRule,
} from './guard-entry'
import type { HubDeps, HubEnv } from './hub-env'
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
const noteAllowed = (methods: readonly string[]): Handler<HubEnv> =>
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
    const value = route.body && (await readBody(c, route))
    const isRead = route.takesImage || route.takesDelivery || route.method === 'get'
    if (!route.body && !isRead) await requireNoFields(c)
    return {
      query: route.query && parse(route.query, readQuery(c), 'query'),
      body: route.body && parse(route.body, value, 'body'),
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
  // What is uploaded was written elsewhere, with ids of any length; its route reports what it replaces.
  return parseJson(text, isUpload ? parseExactJson : parseStorable)
}

function parseJson(text: string, read: (text: string) => unknown): unknown {
  try {
    return read(text)
  } catch (cause) {
    throw httpErrors.malformedJson(cause)
  }
}

function parseStorable(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return mayNeedReplacing(text) ? toStorableJson(value) : value
}

/**
 * Refuses fields in the body of a request that needs none: a client that sends one expects that it does something.
 *
 * @throws VALIDATION, UNSUPPORTED_MEDIA
 */
async function requireNoFields(c: Context<HubEnv>): Promise<void> {
  const bytes = new Uint8Array(await c.req.arrayBuffer())
  if (bytes.length === 0) return
  requireBodyType(c, false)
  requireSmallJson(bytes)
  parse(noFields, parseJson(decodeUtf8(bytes), JSON.parse), 'body')
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

/** Handlers of another module. They authenticate their requests themselves. */
interface ModuleHandlers {
  /** Answers `/mcp` and the paths below it. */
  mcp(request: Request, counts: RequestCounts): Promise<Response>
  /** Answers the paths below `/gateway`, by which coding agents use models. */
  models(request: Request, counts: RequestCounts): Promise<Response>
  /** Answers the paths below `/git`, in git's protocol. */
  git(request: Request, counts: RequestCounts): Promise<Response>
  /** Answers routes of the JSON API. */
  admin(request: Request, counts: RequestCounts): Promise<Response>
  adminRoutes: readonly ModuleRoute[]
  /** Answers forms of admins. */
  forms(request: Request, authenticate: () => Promise<Sender>): Promise<Response>
  formPaths: readonly string[]
  /** Answers the visits that another site sends back, for the account of a browser session. */
  callback(request: Request, authenticate: () => Promise<ReturningPerson>): Promise<Response>
  callbackPath: string
}

type Answer = (c: Context<HubEnv>) => Promise<Response>

/** A visit without an answer does nothing. */
const callbackRule: EntryRule = {
  rate: ({ req }) => (req.query('code') || req.query('error') ? 'write' : 'read'),
  body: 'none',
}

/** Some clients send their token in a header of its own. */
const modelRule: EntryRule = {
  rate: 'read',
  body: 'model',
  shows: ({ req }) => req.header('x-api-key'),
}

/** A pack is longer than other bodies, and the handler passes it on as it arrives. */
const gitRule: EntryRule = { rate: 'read', body: 'upload' }

const toCounts = (c: Context<HubEnv>): RequestCounts => ({
  recordCaller: (accountId) => c.set('accountId', accountId),
  count: (rateClass) => c.var.countAs(rateClass),
})

/** Who comes back from another site, and the SHA-256 of the session's token. */
interface ReturningPerson {
  sender: Sender
  sessionHash: string
}

/** Returns who comes back from another site: the state of the visit proves that it was started here. */
async function findReturning(c: Context<HubEnv>): Promise<ReturningPerson> {
  const { viewer, sessionId, sessionHash } = await requireSession(c, { isReturning: true })
  const { id, name, kind } = viewer
  return { sender: { id, name, kind, keyId: sessionId }, sessionHash }
}

/** Mounts the handlers of another module, and records which keys they accept. */
export const mountModules =
  (handlers: ModuleHandlers): NonNullable<HubDeps['mounts']> =>
  (root) => {
    const mcp = declareEntry<Answer>({ rate: 'read', body: 'json' }, (c) =>
      handlers.mcp(c.req.raw, toCounts(c)),
    )
    for (const path of ['/mcp', '/mcp/*']) root.all(path, mcp)
    const models = declareEntry<Answer>(modelRule, (c) => handlers.models(c.req.raw, toCounts(c)))
    for (const path of ['/gateway', '/gateway/*']) root.all(path, models)
    const git = declareEntry<Answer>(gitRule, (c) => handlers.git(c.req.raw, toCounts(c)))
    for (const path of ['/git', '/git/*']) root.all(path, git)
    const answerAdmin: Answer = (c) => handlers.admin(c.req.raw, toCounts(c))
    for (const route of handlers.adminRoutes) {
      const { rate } = toEntryRule(route)
      // Also where no body is needed: the module reads whatever is there as JSON.
      const body = route.method === 'get' ? 'none' : 'json'
      const answer = declareEntry<Answer>({ rate, body }, (c) => answerAdmin(c))
      root.on(route.method.toUpperCase(), apiBase + route.path, answer)
    }
    for (const { path, method } of handlers.adminRoutes) {
      root.all(apiBase + path, noteAllowed([method]))
    }
    const sendForm = declareEntry<Answer>({ rate: 'write', body: 'form' }, (c) =>
      handlers.forms(c.req.raw, () => requireAdminSender(c)),
    )
    for (const path of handlers.formPaths) root.post(path, sendForm)
    const comeBack = declareEntry<Answer>(callbackRule, (c) =>
      handlers.callback(c.req.raw, () => findReturning(c)),
    )
    root.get(handlers.callbackPath, comeBack)
  }
