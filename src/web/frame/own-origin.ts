import type { Site } from '../../hub/passkeys/actions'
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
