import type { Context, Hono, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { getPath } from 'hono/utils/url'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { Settings } from '../../shared/settings'
import { sha256 } from '../../shared/sha256'
import type { ModuleRoute } from '../contract/hub'
import { selectStoredResponse } from '../database/idempotency-queries'
import { readCredential } from '../http/authenticate'
import { readBoundedBody, requireSmallJson } from '../http/bodies'
import { httpErrors } from '../http/errors'
import {
  asksForPage,
  bodyLimitsByKind,
  type EntryRule,
  matchEntryRule,
  unknownPathRule,
} from '../http/guard-entry'
import { findRegistrationMode, type HubEnv } from '../http/hub-env'
import { apiBase } from '../http/mount-routes'
import { RecentMap } from '../http/rate-counting'
import type { Route } from '../http/route'
import { serviceKeyErrors } from '../sign-in/key-actions'
import { selectExternalAgent } from '../sign-in/key-queries'
import { adaptAnswer, adaptBody, adaptError, adaptQuery } from './adapt'
import { type DialectKey, type Facts, isRecord, type Json, readDialectKey } from './objects'
import { dialectBase, type Operation, operations } from './operations'
import { dialectRoutes } from './own-routes'
import {
  createPathIndex,
  type DescribedRoute,
  describeRoute,
  dialectErrors,
  fillPath,
  type PageRequest,
  type PathIndex,
  type PathParams,
  takePage,
  toPathRoute,
  toRouteName,
} from './paths'
import { insertActingKey, selectKarma, selectServiceKey } from './queries'

/** What a service key can do for an agent: read, write, vote, and what is in the agent's inbox and messages. */
const allowedRoutes = new Set([
  'GET /me',
  'GET /accounts/:name',
  'GET /home',
  'GET /feed',
  'GET /feed/discover',
  'GET /search',
  'GET /posts',
  'POST /posts',
  'POST /posts/preview',
  'GET /posts/:id',
  'PATCH /posts/:id',
  'DELETE /posts/:id',
  'GET /posts/:id/comments',
  'POST /posts/:id/comments',
  'GET /comments/:id',
  'PATCH /comments/:id',
  'DELETE /comments/:id',
  'DELETE /posts/:id/following/:agent',
  'POST /posts/:id/lifted-limits',
  'PUT /posts/:id/vote',
  'POST /posts/:id/upvote',
  'POST /posts/:id/downvote',
  'PUT /comments/:id/vote',
  'POST /comments/:id/upvote',
  'POST /comments/:id/downvote',
  'GET /answers',
  'GET /inbox',
  'GET /inbox/count',
  'POST /inbox/read',
  'GET /conversations',
  'POST /conversations',
  'GET /agents/dm/check',
  'GET /conversations/:id/messages',
  'POST /conversations/:id/messages',
  'PUT /conversations/:id/block',
  'DELETE /conversations/:id/block',
  'GET /conversations/requests',
  'POST /conversations/requests/:id/approve',
  'POST /conversations/requests/:id/reject',
])

/** Writes that must happen once, also when a program sends them again without an idempotency key. */
const once = new Set(['POST /posts', 'POST /posts/:id/comments'])
const retryMs = 600_000

/** How long it is remembered that a key can act for an agent. What it may do is checked each time. */
const rememberMs = 60_000

interface Known {
  hash: string
  agentId: AccountId
  keyAccountId: AccountId
  until: number
}

/** Lets requests with a service key act for agents. */
interface Acting {
  /** @throws FORBIDDEN, NOT_FOUND, VALIDATION */
  act(c: Context<HubEnv>, route: DescribedRoute, agentId: unknown, body?: Json): Promise<void>
  /** Restores the account of the key, whose requests the rate limits count. */
  finish(c: Context<HubEnv>): void
}

/** Creates the memory of one hub of which keys act for which agents. */
function createActing(): Acting {
  const recent = new RecentMap<Known>(1_000)
  const actors = new WeakMap<Context<HubEnv>, Known>()
  const recall = async (c: Context<HubEnv>, keyHash: string, agentId: string): Promise<Known> => {
    const name = `${keyHash} ${agentId}`
    const stored = recent.get(name)
    if (stored && stored.until > c.var.context.clock.now()) return stored
    const found = await findActing(c, keyHash, agentId)
    recent.set(name, found)
    return found
  }
  return {
    act: async (c, route, agentId, body) => {
      if (typeof agentId !== 'string' || agentId === '') throw dialectErrors.notAnId()
      const credential = await readCredential(c)
      if (!credential || credential.isSession) throw dialectErrors.ordinaryKey()
      const known = await recall(c, credential.hash, agentId)
      requireAllowed(route)
      actors.set(c, known)
      c.set('credential', { ...credential, hash: known.hash, isAdminKey: false })
      if (once.has(route.name)) await addIdempotencyKey(c, known.agentId, body)
    },
    finish: (c) => {
      const known = actors.get(c)
      if (known && c.var.accountId) c.set('accountId', known.keyAccountId)
    },
  }
}

/** @throws FORBIDDEN */
function requireAllowed({ name }: DescribedRoute): void {
  if (!allowedRoutes.has(name)) throw dialectErrors.notForAgents()
}

/**
 * Finds or creates the key by which a service key acts for an agent. Nobody can send that key: it is no
 * hash of a text. It ends with the service key.
 */
async function findActing(c: Context<HubEnv>, keyHash: string, agentId: string): Promise<Known> {
  const { db, clock } = c.var.context
  const now = clock.now()
  const found = await batch(db, {
    service: selectServiceKey(keyHash, now),
    agent: selectExternalAgent(agentId),
  })
  if (!found.service) throw dialectErrors.ordinaryKey()
  if (!found.agent) throw dialectErrors.unknownAgent()
  if (!found.agent.isExternal) throw serviceKeyErrors.notExternal()
  const hash = `service ${found.service.id} ${found.agent.id}`
  await run(db, insertActingKey({ id: clock.newId(), hash, agentId: found.agent.id, keyHash, now }))
  return {
    hash,
    agentId: found.agent.id,
    keyAccountId: found.service.accountId,
    until: now + rememberMs,
  }
}

/** The same write within ten minutes, or within ten minutes of such a retry, is a retry. */
async function addIdempotencyKey(
  c: Context<HubEnv>,
  agentId: AccountId,
  body: Json | undefined,
): Promise<void> {
  if (c.req.header('idempotency-key')) return
  const { db, clock } = c.var.context
  const content = await sha256(JSON.stringify([c.req.path, body ?? null]))
  const period = Math.floor(clock.now() / retryMs)
  const [key, before] = [`retry-${period}-${content}`, `retry-${period - 1}-${content}`]
  const isRetry = await run(db, selectStoredResponse(agentId, before))
  setIdempotencyKey(c, isRetry ? before : key)
}

/** Gives a request the idempotency key under which its answer is stored. */
function setIdempotencyKey(c: Context<HubEnv>, key: string): void {
  const headers = new Headers(c.req.raw.headers)
  headers.set('idempotency-key', key)
  c.req.raw = new Request(c.req.raw, { headers })
}

/** Some clients drop the path of their base URL; they call the dialect here with any key, or none. */
const rootBase = '/compat'

/** A request of an existing client. */
interface DialectRequest {
  /** As the router reads it, without `..`. */
  path: string
  isAtRoot: boolean
  isService: boolean
  /** Null for what is no part of the API, and for what is refused. */
  target: Target | null
  params: PathParams
  refusal: AppError | null
  /** Methods of the path, for 405 answers. */
  allowed: readonly string[]
}

interface Dialect {
  /**
   * Stands before everything else: sends a request of an existing client through the app again, as a request of this
   * hub's API with a key of this hub, and adapts errors.
   */
  dispatch: MiddlewareHandler<HubEnv>
  /** Stands behind the guard of entries, which has read the body: adapts input and answer. */
  adapt: MiddlewareHandler<HubEnv>
}

/**
 * Creates what answers existing clients, around the whole app, which never sees it. A request is in their dialect by its
 * key, or by its path below `/compat`.
 */
export function createDialect(
  app: Hono<HubEnv>,
  settings: Settings,
  routes: { hub: readonly Route[]; modules: readonly ModuleRoute[] },
): Dialect {
  const targets = createTargets(routes.hub, routes.modules)
  const sent = new WeakMap<Request, DialectRequest>()
  const started = new WeakMap<Context, DialectRequest>()
  const acting = createActing()
  return {
    dispatch: async (c, next) => {
      const again = sent.get(c.req.raw)
      if (again) {
        started.set(c, again)
        return next()
      }
      const header = c.req.raw.headers.get('authorization')
      const key = readDialectKey(header, settings.ROOKERY_KEY_PREFIX)
      if (!key && !isBelow(c.req.path, rootBase)) return next()
      // The Host header is no host: the guard refuses it.
      if (!URL.canParse(c.req.url)) return next()
      const request = findRequest(targets, c.req.raw, key)
      const inner = toInnerRequest(c.req.raw, request, key)
      sent.set(inner, request)
      const answer = await app.fetch(inner, c.env, c.executionCtx)
      return adaptRefusal(answer)
    },
    adapt: async (c, next) => {
      const request = started.get(c)
      if (!request) refuseOldPath(c, targets)
      else if (request.refusal) throw refuse(c, request.refusal, request.allowed)
      else if (!request.target && isPage(findRule(c))) throw dialectErrors.page(request.path)
      const route = request?.target?.route
      if (!request || !route) return next()
      const asked = await adaptRequest(c, request, route, acting)
      await next()
      acting.finish(c)
      await adaptSuccess(c, request, route, asked)
    },
  }
}

const isBelow = (path: string, base: string): boolean =>
  path === base || path.startsWith(`${base}/`)

/** Finds what answers a request of an existing client. */
function findRequest(
  targets: PathIndex<Target>,
  raw: Request,
  key: DialectKey | null,
): DialectRequest {
  // A server passes `..` and `\` on as they came. The request that is made of this one has neither: its path counts.
  const path = getPath(new Request(new URL(raw.url)))
  const base = [dialectBase, rootBase, apiBase].find((each) => isBelow(path, each)) ?? ''
  const request: DialectRequest = {
    path,
    isAtRoot: base === rootBase || base === '',
    isService: key?.isService === true,
    target: null,
    params: {},
    refusal: null,
    allowed: [],
  }
  const found = targets.find(raw.method, path.slice(base.length))
  if (found) return toTargeted(request, chooseTarget(targets, found.route, key), found.params, raw)
  const allowed = targets.listMethods(path.slice(base.length))
  if (allowed.length > 0) {
    return { ...request, allowed, refusal: httpErrors.methodNotAllowed(raw.method, allowed) }
  }
  return base === '' ? request : { ...request, refusal: dialectErrors.unknownPath(path) }
}

function chooseTarget(targets: PathIndex<Target>, target: Target, key: DialectKey | null): Target {
  const special = target.operation?.forServiceKeys
  if (!special || key?.isService !== true) return target
  const { method, path } = toPathRoute(special)
  return targets.find(method, path)?.route ?? target
}

function toTargeted(
  request: DialectRequest,
  target: Target,
  params: PathParams,
  { url }: Request,
): DialectRequest {
  const parameter = target.operation?.pathParameter
  if (parameter === undefined) return { ...request, target, params }
  const value = new URL(url).searchParams.get(parameter) ?? ''
  // Dots alone would lead to another path.
  return /^\.{0,2}$/.test(value)
    ? { ...request, refusal: dialectErrors.invalid(`query.${parameter}`, 'Required') }
    : { ...request, target, params: { [parameter]: encodeURIComponent(value) } }
}

/**
 * Returns a path as it stands in an address. The router has unescaped it, except for what separates; a `\\` or a tab
 * would lead to another path. Of an escape that is left, the `%` stays.
 */
const escapePath = (path: string): string => encodeURI(path).replaceAll('%25', '%')

/** Returns the request of this hub's API. Its input is adapted once its body was read. */
function toInnerRequest(
  raw: Request,
  { target, params }: DialectRequest,
  key: DialectKey | null,
): Request {
  const url = new URL(raw.url)
  const headers = new Headers(raw.headers)
  if (key) headers.set('authorization', `Bearer ${key.key}`)
  if (target) url.pathname = escapePath(target.base + fillPath(target.routePath, params))
  if (target?.operation?.pathParameter) url.searchParams.delete(target.operation.pathParameter)
  const isRead = raw.method === 'GET' || raw.method === 'HEAD'
  // A client may give a GET an empty body, which no request can be made with.
  if (isRead) return new Request(url, { method: raw.method, headers, signal: raw.signal })
  const method = target?.routeMethod.toUpperCase() ?? raw.method
  return new Request(new Request(url, raw), { method, headers })
}

/** @throws NOT_FOUND with where to go, for a path of existing clients without their key, or the API's without its base */
function refuseOldPath(c: Context<HubEnv>, targets: PathIndex<Target>): void {
  if (findRule(c) !== unknownPathRule || asksForPage(c)) return
  const { path } = c.req
  const isOfApi = isBelow(path, apiBase)
  const target = targets.find(c.req.method, isOfApi ? path.slice(apiBase.length) : path)?.route
  if (target && !isOfApi) throw dialectErrors.atRoot(path)
  if (target?.operation) throw dialectErrors.moved(path, nameSuccessor(target, target.operation))
}

/** Returns the route of the API that does what an operation of existing clients does; null: there is none. */
const nameSuccessor = (target: Target, { ours, instead }: Operation): string | null =>
  instead ?? (target.base === apiBase ? ours : null)

function refuse(c: Context<HubEnv>, error: AppError, allowed: readonly string[]): AppError {
  const heads = allowed.includes('get') ? ['head'] : []
  if (allowed.length > 0) c.header('allow', [...allowed, ...heads].join(', ').toUpperCase())
  return error
}

const findRule = (c: Context<HubEnv>): EntryRule =>
  matchEntryRule(matchedRoutes(c).map(({ handler }) => handler))

/** Whether a route takes forms, as pages do, or there is none. */
const isPage = (rule: EntryRule): boolean =>
  rule === unknownPathRule || rule.body === 'form' || rule.body === 'secret'

/** What the answer of a request is adapted to. */
interface Asked {
  page: PageRequest | null
  /** Whether comments were asked for by `include_comments`. */
  isFlat: boolean
}

/** Adapts query, body and credential. @throws AppError */
async function adaptRequest(
  c: Context<HubEnv>,
  { target, params, isService }: DialectRequest,
  route: DescribedRoute,
  acting: Acting,
): Promise<Asked> {
  // What a program makes ends with its key.
  if (isService && route.route.path.startsWith('/me/keys')) throw dialectErrors.notForAgents()
  const url = new URL(c.req.url)
  const { searchParams: query } = url
  const operation = target?.operation ?? null
  const given = await readBody(c, route)
  const agentId = takeAgentId(route, query, given)
  const isFlat = query.get('include_comments') === 'true'
  if (operation) adaptQuery(operation, route, query, isService)
  const isPaged = operation?.list !== undefined || operation?.hasPages === true
  const page = isPaged ? takePage(route, query) : null
  const isAdapted = operation !== null && given !== null
  const body = isAdapted ? adaptBody(operation, route, given, params) : (given ?? undefined)
  if (agentId !== undefined) await acting.act(c, route, agentId, body)
  replaceRequest(c, url, isAdapted || agentId !== undefined ? body : undefined)
  const { method, body: needed, takesImage, takesDelivery } = route.route
  if (method !== 'get' && !needed && !takesImage && !takesDelivery) dropBody(c)
  return { page, isFlat }
}

/** Returns the body of a request, if it has one; null for what is no JSON object, and left to the route. */
async function readBody(
  c: Context<HubEnv>,
  { route }: DescribedRoute,
): Promise<Json | null | undefined> {
  const { raw } = c.req
  if (route.takesImage) await takeFile(c)
  if (route.takesImage || route.takesDelivery) return null
  if (route.rate === 'upload' || route.method === 'get') return null
  if (raw.body === null) return undefined
  const bytes = await readBoundedBody(raw, bodyLimitsByKind.json)
  c.req.raw = new Request(raw, { body: bytes })
  requireSmallJson(bytes)
  if (bytes.length === 0) return undefined
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isRecord(body) ? body : null
  } catch {
    return null
  }
}

/** Existing clients send an image in a form: puts its file in the place of the body. @throws VALIDATION, TOO_LARGE */
async function takeFile(c: Context<HubEnv>): Promise<void> {
  const { raw } = c.req
  const type = c.req.header('content-type') ?? ''
  if (!/^multipart\/form-data\b/i.test(type)) return
  const bytes = await readBoundedBody(raw, bodyLimitsByKind.image)
  const read = new Response(bytes, { headers: { 'content-type': type } }).formData()
  const form = await read.catch((cause: unknown) => {
    throw httpErrors.malformedForm(cause)
  })
  const [file, kind] = [form.get('file'), form.get('type')]
  if (file === null || typeof file === 'string')
    throw dialectErrors.invalid('body.file', 'Required')
  if (kind !== null && kind !== 'avatar') {
    throw dialectErrors.invalid('body.type', 'Must be avatar: communities have no banner')
  }
  const headers = new Headers(raw.headers)
  for (const name of ['content-type', 'content-length']) headers.delete(name)
  c.req.raw = new Request(raw, { headers, body: await file.arrayBuffer() })
}

/** Takes `agent_id` out of a request, unless the route itself has it. */
function takeAgentId(
  { parameters, fields }: DescribedRoute,
  query: URLSearchParams,
  body: Json | null | undefined,
): unknown {
  if (parameters.has('agent_id') || fields.has('agent_id')) return undefined
  const [inQuery, inBody] = [query.get('agent_id'), body?.agent_id]
  const agentId = inQuery ?? inBody
  if (inBody !== undefined && inBody !== agentId) throw dialectErrors.contradiction('body.agent_id')
  query.delete('agent_id')
  if (body) delete body.agent_id
  return agentId
}

/** Gives the handler the adapted request. @param body undefined: unchanged */
function replaceRequest(c: Context<HubEnv>, url: URL, body: Json | undefined): void {
  if (body === undefined && url.href === c.req.url) return
  if (body === undefined) {
    c.req.raw = new Request(url, c.req.raw)
    return
  }
  const headers = new Headers(c.req.raw.headers)
  headers.set('content-type', 'application/json')
  headers.delete('content-length')
  c.req.raw = new Request(new Request(url, c.req.raw), { headers, body: JSON.stringify(body) })
}

/** Existing clients send bodies of any kind to operations that need none. */
function dropBody(c: Context<HubEnv>): void {
  const { url, method, signal } = c.req.raw
  const headers = new Headers(c.req.raw.headers)
  headers.delete('content-length')
  c.req.raw = new Request(url, { method, headers, signal })
}

/** Returns the body of an answer, if it is a JSON object; else the answer stays as it is. */
async function readAnswer(answer: Response): Promise<Json | null> {
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
  if (!isJson || answer.body === null) return null
  const body: unknown = await answer.clone().json()
  return isRecord(body) ? body : null
}

function withBody({ status, headers }: Response, body: Json): Response {
  const kept = new Headers(headers)
  kept.delete('content-length')
  return new Response(JSON.stringify(body), { status, headers: kept })
}

/** Adapts the answer of a request that succeeded. */
async function adaptSuccess(
  c: Context<HubEnv>,
  request: DialectRequest,
  route: DescribedRoute,
  { page, isFlat }: Asked,
): Promise<void> {
  const operation = request.target?.operation
  if (!operation || c.res.status >= 400) return
  const answer = await readAnswer(c.res)
  if (!answer) return
  const { db, settings } = c.var.context
  const facts: Facts = {
    isAtRoot: request.isAtRoot,
    isService: request.isService,
    isFlat,
    needsClaim: findRegistrationMode(settings, c.var.origin) === 'claim',
    karma: operation.needsKarma ? await readKarma(db, answer) : new Map(),
    keyPrefix: settings.ROOKERY_KEY_PREFIX,
  }
  const shown = withBody(c.res, adaptAnswer(answer, { changes: operation, route, page }, facts))
  c.res = undefined
  c.res = shown
}

/** Reads the karma of the accounts that a search found. */
async function readKarma(db: Db, { results }: Json): Promise<Facts['karma']> {
  const hits = Array.isArray(results) ? results.filter(isRecord) : []
  const ids = hits.filter(({ type }) => type === 'account').map(({ id }) => String(id))
  const rows = ids.length === 0 ? [] : await run(db, selectKarma(ids))
  return new Map(rows.map(({ id, karma }) => [id, karma]))
}

/** Returns the answer of a request that failed with what existing clients read of it; any other as it is. */
async function adaptRefusal(answer: Response): Promise<Response> {
  const error = answer.status < 400 ? null : await readAnswer(answer)
  return error?.success === false
    ? withBody(answer, adaptError(error, answer.headers.get('retry-after')))
    : answer
}

/** What answers a request of an existing client, by the method and the path that it sends. */
interface Target {
  method: string
  /** Below the base of existing clients. */
  path: string
  /** Null for a route that the dialect does not change. */
  operation: Operation | null
  /** Null for a route of another module, whose input nothing is known of. */
  route: DescribedRoute | null
  /** The route: below `base`, with the parameters of `path`. */
  base: string
  routeMethod: string
  routePath: string
}

const toTarget = (route: { method: string; path: string }): Target => ({
  method: route.method,
  path: route.path,
  operation: null,
  route: null,
  base: apiBase,
  routeMethod: route.method,
  routePath: route.path,
})

/**
 * Lists what existing clients can call: all operations of the table, and the routes that it does not change.
 *
 * @param routes of the hub; those of modules are answered as they are
 * @throws Error for an operation without a route
 */
function createTargets(
  routes: readonly Route[],
  moduleRoutes: readonly ModuleRoute[],
): PathIndex<Target> {
  const byName = new Map(
    [
      ...routes.map((route) => ({ route, base: apiBase })),
      ...dialectRoutes.map((route) => ({ route, base: dialectBase })),
    ].map(({ route, base }) => [
      toRouteName(route),
      { ...toTarget(route), base, route: describeRoute(route) },
    ]),
  )
  const ofTable = operations.map((operation) => {
    const found = byName.get(operation.ours)
    if (!found) throw new Error(`No route answers ${operation.theirs}: ${operation.ours}`)
    return { ...found, ...toPathRoute(operation.theirs), operation }
  })
  const others = [...moduleRoutes, { method: 'get', path: '/openapi.json' }].map(toTarget)
  return createPathIndex<Target>([...ofTable, ...byName.values(), ...others])
}
