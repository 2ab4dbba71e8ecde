import { writeCookie } from '../../hub/http/page-entry'
import type { Site } from '../../hub/sign-in/passkey-actions'
import type { PageContext } from './send-page'

/** Returns the origin that the browser shows: on this machine itself it is not that of links. */
export const findBrowserOrigin = (c: PageContext): string =>
  c.var.isLoopback ? new URL(c.req.url).origin : c.var.origin

/** Returns the site that a passkey is made for. */
export const findSite = (c: PageContext): Site => ({
  origin: findBrowserOrigin(c),
  hubName: c.var.context.settings.ROOKERY_NAME,
})

/**
 * Returns a redirect from an address of this machine to `localhost`, because browsers keep passkeys for
 * names only; null for every other request.
 */
export function redirectFromAddress(c: PageContext): Response | null {
  const url = new URL(c.req.url)
  if (c.req.method !== 'GET' || !c.var.isLoopback || url.hostname === 'localhost') return null
  url.hostname = 'localhost'
  return c.redirect(url.href, 302)
}

/** Keeps a browser session in its cookie. An `expiresAt` of 0 removes it. */
export const setSessionCookie = (
  c: PageContext,
  { token, expiresAt }: { token: string; expiresAt: number },
): void => writeCookie(c, 'session', token, { expires: new Date(expiresAt) })

const base = 'https://hub.invalid'

/**
 * Returns a path of this hub to redirect to; `/` for the sign-in page or another site. The path is
 * checked as browsers resolve it: `/..//example.com` becomes `//example.com`, which is another site.
 */
export function toLocalPath(text: string | undefined): string {
  if (!text?.startsWith('/') || !URL.canParse(text, base)) return '/'
  const { origin, pathname, search, hash } = new URL(text, base)
  const isLocal = origin === base && !/^\/(\/|login(\/|$))/.test(pathname)
  return isLocal ? pathname + search + hash : '/'
}
