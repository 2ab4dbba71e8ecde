import type { Context, MiddlewareHandler } from 'hono'
import { getPath } from 'hono/utils/url'
import { run } from '../../shared/db/batch'
import { setHeaders } from '../http/answer-headers'
import { requireSmallJson } from '../http/body-types'
import { bodyLimitsByKind } from '../http/entry-rule'
import { toErrorResponse } from '../http/errors'
import type { HubEnv } from '../http/hub-env'
import { apiBase } from '../http/mount-routes'
import { readBoundedBody } from '../http/read-bounded-body'
import { findRegistrationMode } from '../http/registration-mode'
import { type AnswerRequest, adaptAnswer, adaptError } from './adapt-answer'
import { isRecord } from './adapt-fields'
import { adaptBody, adaptQuery, type Body } from './adapt-input'
import type { AdaptedRoute } from './adapted-route'
import type { ApiPaths } from './api-paths'
import { compatErrors } from './errors'
import { isRootPath } from './find-path'
import { toKeyOfHub } from './key-prefixes'
import { takePage } from './page-request'
import { selectKarma } from './queries'
import { type Acting, createActing } from './service/act-for-agent'
import { isServiceKey } from './service-key-text'
import { toggleVote } from './toggle-vote'

/** Paths of the whole API, and the routes of the hub among them. */
export interface CompatPaths {
  all: ApiPaths<{ method: string; path: string }>
  hub: ApiPaths<AdaptedRoute>
}

/**
 * Returns what runs around the API for existing clients: `refusals` stands before the guard of entries, whose
 * refusals are adapted too, and `requests` after it, because it reads bodies.
 */
export function createCompat(
  paths: CompatPaths,
): Record<'refusals' | 'requests', MiddlewareHandler<HubEnv>> {
  const acting = createActing()
  return {
    refusals: async (c, next) => {
      acceptPrefixes(c)
      await next()
      if (c.req.path.startsWith(`${apiBase}/`)) await adaptRefusal(c)
      if (isRootPath(paths.all, c.req.raw, getPath(c.req.raw))) addVary(c)
    },
    requests: async (c, next) => {
      const path = c.req.path
      const route = path.startsWith(`${apiBase}/`)
        ? paths.hub.find(c.req.method, path.slice(apiBase.length))
        : undefined
      if (!route) return next()
      try {
        const request = await adaptRequest(c, route, acting)
        if (request) c.set('adaptAnswer', (answer) => adapt(c, answer, request))
      } catch (error) {
        c.res = toErrorResponse(c, error)
        return
      }
      await next()
      await acting.finish(c)
    },
  }
}

/** A key with an accepted prefix is the key of this hub with its own prefix. */
function acceptPrefixes(c: Context<HubEnv>): void {
  const header = c.req.header('authorization')
  const known = header && toKeyOfHub(header, c.var.context.settings)
  if (!known || known === header) return
  const headers = new Headers(c.req.raw.headers)
  headers.set('authorization', known)
  c.req.raw = new Request(c.req.raw, { headers })
}

function addVary(c: Context<HubEnv>): void {
  const vary = c.res.headers.get('vary')
  if (vary && /(^|,)\s*accept\s*(,|$)/i.test(vary)) return
  setHeaders(c, { vary: vary ? `${vary}, Accept` : 'Accept' })
}

/** Adapts query, body and credential; returns what the answer is adapted to. @throws AppError */
async function adaptRequest(
  c: Context<HubEnv>,
  route: AdaptedRoute,
  acting: Acting,
): Promise<AnswerRequest | null> {
  // What a program makes ends with its key.
  if (route.route.tag === 'keys' && isRunner(c)) throw compatErrors.notForAgents()
  const url = new URL(c.req.url)
  const given = await readBody(c, route)
  const agentId = takeAgentId(route, url.searchParams, given)
  const request = route.isShared ? adaptParameters(c, route, url.searchParams) : null
  const adapted = request ? adaptBody(route, given) : given
  if (agentId !== undefined) await acting.act(c, route, agentId, adapted)
  const body = await toggleVote(c, route, adapted)
  replaceRequest(c, url, body === given && agentId === undefined ? undefined : body)
  return request
}

function adaptParameters(
  c: Context<HubEnv>,
  route: AdaptedRoute,
  query: URLSearchParams,
): AnswerRequest {
  const isService = isRunner(c)
  const isFlat = query.get('include_comments') === 'true'
  // Programs with a service key read each hit as a post.
  if (isService && route.name === 'GET /search' && !query.has('type')) query.set('type', 'posts')
  adaptQuery(route, query)
  const page = route.list === null ? null : takePage(route, query)
  if (route.name === 'GET /posts/:id' && !query.has('include_comments')) {
    query.set('include_comments', 'true')
  }
  return { route, page, isFlat, isService }
}

const isRunner = (c: Context<HubEnv>): boolean =>
  isServiceKey(/^Bearer\s+(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? '')

/** Returns the body of a request, if it is a JSON object; anything else is refused by the route. */
async function readBody(c: Context<HubEnv>, { route }: AdaptedRoute): Promise<Body | undefined> {
  const { raw } = c.req
  if (raw.body === null || route.rate === 'upload' || route.method === 'get') return undefined
  const bytes = await readBoundedBody(raw, bodyLimitsByKind.json)
  c.req.raw = new Request(raw, { body: bytes })
  requireSmallJson(bytes)
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isRecord(body) ? body : undefined
  } catch {
    return undefined
  }
}

/** Takes `agent_id` out of a request, unless the route itself has it. */
function takeAgentId(
  { readsAgentId }: AdaptedRoute,
  query: URLSearchParams,
  body: Body | undefined,
): unknown {
  if (readsAgentId) return undefined
  const agentId = query.get('agent_id') ?? body?.agent_id
  query.delete('agent_id')
  if (body) delete body.agent_id
  return agentId
}

/** Gives the handler the adapted request. @param body undefined: unchanged */
function replaceRequest(c: Context<HubEnv>, url: URL, body: Body | undefined): void {
  if (body === undefined && url.href === c.req.url) return
  const headers = new Headers(c.req.raw.headers)
  if (body === undefined) {
    c.req.raw = new Request(url, c.req.raw)
    return
  }
  headers.set('content-type', 'application/json')
  headers.delete('content-length')
  c.req.raw = new Request(new Request(url, c.req.raw), { headers, body: JSON.stringify(body) })
}

const isJson = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('application/json') === true

/** Adapts the answer of a request that failed. */
async function adaptRefusal(c: Context<HubEnv>): Promise<void> {
  const { status } = c.res
  if (status < 400 || !isJson(c.res)) return
  const answer: unknown = await c.res.json()
  const shown = isRecord(answer) ? adaptError(answer, c.res.headers.get('retry-after')) : answer
  const headers = new Headers(c.res.headers)
  headers.delete('content-length')
  const adapted = new Response(JSON.stringify(shown), { status, headers })
  c.res = undefined
  c.res = adapted
}

const adapt = async (
  c: Context<HubEnv>,
  answer: Record<string, unknown>,
  request: AnswerRequest,
): Promise<Record<string, unknown>> => adaptAnswer(answer, request, await readFacts(c, answer))

async function readFacts(c: Context<HubEnv>, answer: Record<string, unknown>) {
  const { db, settings } = c.var.context
  const hits = Array.isArray(answer.results) ? answer.results.filter(isRecord) : []
  const ids = hits.filter(({ type }) => type === 'agent').map(({ id }) => String(id))
  return {
    isAtRoot: !getPath(c.req.raw).startsWith('/api/'),
    needsClaim: findRegistrationMode(settings, c.var.origin) === 'claim',
    karma: new Map(ids.length === 0 ? [] : (await run(db, selectKarma(ids))).map(toEntry)),
  }
}

const toEntry = ({ id, karma }: { id: string; karma: number }) => [id, karma] as const
