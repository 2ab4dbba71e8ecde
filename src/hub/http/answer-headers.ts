import type { Context } from 'hono'
import type { HubEnv } from './hub-env'

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
 * stay in that browser. What is not a public asset depends on who asks.
 *
 * @param isSecret whether the request showed a credential or another secret
 */
export function addCacheHeaders(c: Context<HubEnv>, isSecret: boolean): void {
  const { headers } = c.res
  const own = headers.get('cache-control') ?? ''
  if (own.startsWith('public')) return
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD'
  const mayStay = own === pageCaching && isRead && !isSecret
  const vary = new Set([...(headers.get('vary') ?? '').split(/, */), 'Cookie', 'Authorization'])
  setHeaders(c, {
    'cache-control': mayStay ? own : 'private, no-store',
    vary: [...vary].filter(Boolean).join(', '),
  })
}

/** Of a page: its content changes all the time. */
export const pageCaching = 'private, no-cache'

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
