import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { isLoopbackHost } from './find-origin'
import type { HubEnv } from './hub-env'

/** Cookies of the hub, by what they keep. */
export type CookieKind = 'session' | 'sign_in' | 'theme' | 'bookmark'

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
    ...{ httpOnly: true, sameSite: 'Lax', path: '/', secure: c.var.isSecure },
    ...life,
  })
