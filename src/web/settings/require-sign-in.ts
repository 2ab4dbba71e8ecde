import type { Handler } from 'hono'
import { type HubEnv, httpErrors, readCredential, requireViewer } from '../../hub/http/page-entry'
import type { Credential, Viewer } from '../../hub/viewers/queries'
import type { Frame } from '../frame/frame'
import { redirectFromAddress } from '../frame/own-origin'
import { pageErrors } from '../frame/page-errors'
import { type PageContext, page } from '../frame/send-page'

/** @throws UNAUTHORIZED without a key or session */
export async function requireCredential(c: PageContext): Promise<Credential> {
  const credential = await readCredential(c)
  if (credential) return credential
  throw pageErrors.signInRequired()
}

/**
 * Returns the viewer of a form whose answer shows a secret once: it must be able to see the page.
 *
 * @throws UNAUTHORIZED, FORBIDDEN without both scopes
 */
export async function requireReadingSender(c: PageContext): Promise<Viewer> {
  const viewer = await requireViewer(c, 'write')
  if (!viewer.scopes.includes('read')) throw httpErrors.sessionScope('read')
  return viewer
}

/** @throws UNAUTHORIZED for a session that has ended */
export function assertSignedIn(frame: Frame): void {
  if (!frame.viewer) throw pageErrors.signInRequired()
}

/** Wraps a page of the settings, which moves from an address of this machine to `localhost`. */
export const settingsPage = (show: (c: PageContext) => Promise<Response>): Handler<HubEnv> =>
  page((c) => redirectFromAddress(c) ?? show(c))
