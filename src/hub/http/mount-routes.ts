import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type * as z from 'zod'
import { limits } from '../../shared/config'
import type { Viewer } from '../keys/queries'
import {
  readCredential,
  readWithViewer,
  requireAdmin,
  requireViewer,
  toActor,
} from './authenticate'
import { listDetails, toErrorResponse, tooLarge } from './errors'
import { httpErrors } from './http-errors'
import type { HubEnv } from './hub-env'
import type { Call, Route } from './route'

export const apiBase = '/api/v1'

/** Mounts the declared routes on the app; a known path with another method returns 405. */
export function mountRoutes(app: Hono<HubEnv>, routes: Route[]): void {
  for (const route of routes) {
    const limit = bodyLimit({
      maxSize: route.bytesMax ?? limits.requestBytesMax,
      onError: (c) => toErrorResponse(c, tooLarge()),
    })
    app.on(route.method.toUpperCase(), apiBase + route.path, limit, (c) => answer(c, route))
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allowed = routes.filter((route) => route.path === path).map(({ method }) => method)
    app.all(apiBase + path, (c, next) => {
      // A more general path can still match, e.g. GET /agents/:name after /agents/me.
      c.set('allowed', [...new Set([...(c.var.allowed ?? []), ...allowed])])
      return next()
    })
  }
  app.all(`${apiBase}/*`, (c) => {
    const allowed = c.var.allowed ?? []
    if (allowed.length === 0) return toErrorResponse(c, httpErrors.unknownRoute(c.req.path))
    c.header('allow', allowed.join(', ').toUpperCase())
    return toErrorResponse(c, httpErrors.methodNotAllowed(c.req.method, allowed))
  })
}

async function answer(c: Context<HubEnv>, route: Route): Promise<Response> {
  const viewer = await authorize(c, route)
  const body = await route.handle(await createCall(c, route, viewer))
  if (body instanceof Response) return body
  return c.json({ success: true, ...body }, route.status)
}

/** Authorizes the caller before the input is validated, so that validation reveals nothing. */
async function authorize(c: Context<HubEnv>, route: Route): Promise<Viewer | null> {
  if (route.access !== 'write' && route.access !== 'admin') return null
  const viewer = await requireViewer(c, route.method === 'get' ? 'read' : 'write')
  if (route.access === 'admin') requireAdmin(viewer)
  return viewer
}

async function createCall(
  c: Context<HubEnv>,
  route: Route,
  viewer: Viewer | null,
): Promise<Call<unknown, unknown>> {
  const credential = route.access === 'open' ? null : await readCredential(c)
  if (route.access === 'own' && !credential) await requireViewer(c, 'read')
  const getViewer = (): Viewer => {
    if (!viewer) throw new Error(`${route.path} has no viewer: its access must be write or admin`)
    return viewer
  }
  return {
    c,
    context: c.var.context,
    credential,
    query: route.query ? parse(route.query, readQuery(c), 'query') : undefined,
    body: route.body ? parse(route.body, await readBody(c), 'body') : undefined,
    param: (name) => c.req.param(name) ?? '',
    read: async (statements) => {
      const page = await readWithViewer(c, credential, statements)
      if (route.access === 'own' && !page.viewer) await requireViewer(c, 'read')
      return page
    },
    viewer: getViewer,
    actor: () => toActor(getViewer(), readIdempotencyKey(c)),
  }
}

/** Returns the query parameters. The last value of a repeated parameter wins; empty values are dropped. */
function readQuery(c: Context<HubEnv>): Record<string, string> {
  return Object.fromEntries(Object.entries(c.req.query()).filter(([, value]) => value !== ''))
}

async function readBody(c: Context<HubEnv>): Promise<unknown> {
  const text = await c.req.text()
  if (text === '') return {}
  const type = c.req.header('content-type')
  if (type && !/json/i.test(type)) throw httpErrors.notJson()
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw httpErrors.malformedJson(cause)
  }
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
