import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type * as z from 'zod'
import { limits } from '../../config'
import { AppError } from '../../errors'
import type { Viewer } from '../keys/queries'
import { readAs, readCredential, requireAdmin, requireViewer, toActor } from './authenticate'
import { listDetails, toErrorResponse, tooLarge } from './errors'
import type { HubEnv } from './hub-env'
import type { Call, Route } from './route'

export const apiBase = '/api/v1'

/** Puts the declared routes on the app; a known path with another method answers 405. */
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
      // A more general path may still take it, e.g. GET /agents/:name after /agents/me.
      c.set('allowed', [...new Set([...(c.var.allowed ?? []), ...allowed])])
      return next()
    })
  }
  app.all(`${apiBase}/*`, (c) => {
    const allowed = c.var.allowed ?? []
    if (allowed.length === 0) return toErrorResponse(c, noRoute(c.req.path))
    c.header('allow', allowed.join(', ').toUpperCase())
    const error = new AppError('METHOD_NOT_ALLOWED', `${c.req.method} does not work here.`, {
      hint: `Use ${allowed.join(' or ').toUpperCase()}.`,
    })
    return toErrorResponse(c, error)
  })
}

const noRoute = (path: string): AppError =>
  new AppError('NOT_FOUND', `There is no ${path.slice(0, 200)} in this API.`, {
    hint: `GET ${apiBase}/openapi.json lists what there is.`,
  })

async function answer(c: Context<HubEnv>, route: Route): Promise<Response> {
  const viewer = await authorize(c, route)
  const body = await route.handle(await createCall(c, route, viewer))
  if (body instanceof Response) return body
  return c.json({ success: true, ...body }, route.status)
}

/** Checks the caller before the input, so that strangers learn nothing about it. */
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
  const known = (): Viewer => {
    if (!viewer) throw new Error(`${route.path} is not declared as a write`)
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
      const page = await readAs(c, credential, statements)
      if (route.access === 'own' && !page.viewer) await requireViewer(c, 'read')
      return page
    },
    viewer: known,
    actor: () => toActor(known(), readIdempotencyKey(c)),
  }
}

/** The last of a repeated parameter counts; an empty one is not there. */
function readQuery(c: Context<HubEnv>): Record<string, string> {
  return Object.fromEntries(Object.entries(c.req.query()).filter(([, value]) => value !== ''))
}

async function readBody(c: Context<HubEnv>): Promise<unknown> {
  const text = await c.req.text()
  if (text === '') return {}
  const type = c.req.header('content-type')
  if (type && !/json/i.test(type)) {
    throw new AppError('UNSUPPORTED_MEDIA', 'The body must be JSON.', {
      hint: 'Send Content-Type: application/json.',
    })
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new AppError('VALIDATION', 'The body is not valid JSON.', {
      details: [{ path: 'body', message: 'not valid JSON' }],
      cause,
    })
  }
}

function parse(schema: z.ZodType, value: unknown, place: string): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new AppError('VALIDATION', 'The request is not valid.', {
    hint: `See ${apiBase}/openapi.json for the fields.`,
    details: listDetails(parsed.error, place),
  })
}

/** @throws VALIDATION for a key that is too long or not printable ASCII */
export function readIdempotencyKey(c: Context<HubEnv>): string | null {
  const key = c.req.header('idempotency-key')
  if (key === undefined || key === '') return null
  if (key.length <= limits.idempotencyKeyCharsMax && /^[\x20-\x7e]+$/.test(key)) return key
  throw new AppError('VALIDATION', 'The Idempotency-Key is not valid.', {
    details: [
      {
        path: 'header.idempotency-key',
        message: `1 to ${limits.idempotencyKeyCharsMax} printable characters`,
      },
    ],
  })
}
