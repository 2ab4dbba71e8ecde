import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import type { Db } from '../../shared/db/db'
import { isLoopbackHost } from '../../shared/ip-address'
import { createContext } from '../database/action-context'
import type { HubDeps, HubEnv } from './hub-env'

/** Headers of every answer. An answer that is not a page gets no content of any kind. */
const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Adds the security headers to an answer; a page keeps its own content security policy. */
export function addSecurityHeaders(c: Context<HubEnv>, isSecure: boolean): void {
  const missing = Object.entries(securityHeaders).filter(([name]) => !c.res.headers.has(name))
  const transport = isSecure ? { 'strict-transport-security': 'max-age=31536000' } : {}
  setHeaders(c, { ...Object.fromEntries(missing), ...transport })
}

/**
 * Says who may keep an answer: nobody, unless it is a public asset. The page of a reader without any credential may
 * stay in that browser, and an image, which is asked for again each time. What is not a public asset depends on who asks.
 *
 * @param isSecret whether the request showed a credential or another secret
 */
export function addCacheHeaders(c: Context<HubEnv>, isSecret: boolean): void {
  const { headers } = c.res
  const own = headers.get('cache-control') ?? ''
  if (own.startsWith('public')) return
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD'
  const mayStay =
    own === fileCaching || own === avatarCaching || (own === pageCaching && isRead && !isSecret)
  const vary = new Set([...(headers.get('vary') ?? '').split(/, */), 'Cookie', 'Authorization'])
  setHeaders(c, {
    'cache-control': mayStay ? own : 'private, no-store',
    vary: [...vary].filter(Boolean).join(', '),
  })
}

/** Of a page: its content changes all the time. */
export const pageCaching = 'private, no-cache'

/** Of a file that never changes: the browser keeps it, and asks each time whether the reader may still see it. */
export const fileCaching = 'private, max-age=0, must-revalidate'

/** Of the picture of an account, which everybody sees who reads the hub, on many pages: its address changes with it. */
export const avatarCaching = 'private, max-age=86400, immutable'

/** Sets headers of an answer. One that another object sent is copied, because its headers are immutable. */
export function setHeaders(c: Context<HubEnv>, headers: Record<string, string>): void {
  if (c.res.status === 101) return
  const set = (of: Response) => {
    for (const [name, value] of Object.entries(headers)) of.headers.set(name, value)
  }
  try {
    set(c.res)
  } catch {
    const copy = new Response(c.res.body, c.res)
    set(copy)
    c.res = undefined
    c.res = copy
  }
}

/** Cookies of the hub, by what they keep. */
type CookieKind = 'session' | 'sign_in' | 'theme' | 'bookmark' | 'first_steps' | 'stay'

/**
 * Returns the name of a cookie. Over TLS it has the prefix `__Host-`, with which browsers take it from this host
 * alone: another host of the domain, or a page without TLS, could set one of any other name. Hubs on one machine
 * share its cookies, whatever their port, so there the port is part of the name.
 */
function toName(c: Context<HubEnv>, kind: CookieKind): string {
  const { hostname, port } = new URL(c.req.url)
  const suffix = port !== '' && isLoopbackHost(hostname) ? `_${port}` : ''
  return `${c.var.isSecure ? '__Host-' : ''}rookery_${kind}${suffix}`
}

/** Returns the value of a cookie of the hub; undefined without one. */
export const readCookie = (c: Context<HubEnv>, kind: CookieKind): string | undefined =>
  getCookie(c, toName(c, kind))

/** Keeps a value in the browser until it expires; `maxAge` is in seconds, and 0 removes it. */
export const writeCookie = (
  c: Context<HubEnv>,
  kind: CookieKind,
  value: string,
  life: { expires: Date } | { maxAge: number },
): void =>
  setCookie(c, toName(c, kind), value, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: c.var.isSecure,
    ...life,
  })

/** A copy of the database is seldom behind by more than this. */
const bookmarkSeconds = 600

/**
 * Returns the database for a reader who is not signed in: a copy near the reader may answer. A browser that wrote
 * before it signed out reads at least what it wrote.
 */
export function openReaderDb(c: Context<HubEnv>): Db {
  const { db, settings } = c.var.context
  if (!settings.ROOKERY_READ_REPLICAS) return db
  const bookmark = readCookie(c, 'bookmark') ?? ''
  return db.openSession(/^[\w-]{1,200}$/.test(bookmark) ? bookmark : 'first-unconstrained')
}

/** Keeps in the browser how far the database was when its request had written. */
function keepBookmark(c: Context<HubEnv>): void {
  const bookmark = c.var.context.db.getBookmark()
  if (!bookmark || !c.var.credential?.isSession || c.res.status >= 400) return
  writeCookie(c, 'bookmark', bookmark, { maxAge: bookmarkSeconds })
}

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/

/**
 * Creates the context and the id of each request, and reports its cost in the `Server-Timing` header:
 * `total;dur=<ms>, d1;desc="round_trips=1 rows_read=27"`.
 */
export const prepareRequest =
  (deps: HubDeps): MiddlewareHandler<HubEnv> =>
  async (c, next) => {
    const startedAt = performance.now()
    const given = c.req.header('x-request-id') ?? ''
    const requestId = REQUEST_ID.test(given) ? given : deps.clock.newId()
    const isWrite = deps.settings.ROOKERY_READ_REPLICAS && c.req.method !== 'GET'
    const context = createContext(deps, (work) => c.executionCtx.waitUntil(work))
    c.set(
      'context',
      isWrite ? { ...context, db: context.db.openSession('first-primary') } : context,
    )
    c.set('requestId', requestId)
    await next()
    if (isWrite) keepBookmark(c)
    const { roundTrips, rowsRead } = context.db.cost
    setHeaders(c, {
      'x-request-id': requestId,
      'server-timing':
        `total;dur=${(performance.now() - startedAt).toFixed(1)}, ` +
        `d1;desc="round_trips=${roundTrips} rows_read=${rowsRead}"`,
    })
  }
