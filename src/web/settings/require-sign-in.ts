import type { Handler } from 'hono'
import { readCredential } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import type { Credential } from '../../hub/viewers/queries'
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

/** @throws UNAUTHORIZED for a session that has ended */
export function assertSignedIn(frame: Frame): void {
  if (!frame.viewer) throw pageErrors.signInRequired()
}

/** Wraps a page of the settings, which moves from an address of this machine to `localhost`. */
export const settingsPage = (show: (c: PageContext) => Promise<Response>): Handler<HubEnv> =>
  page((c) => redirectFromAddress(c) ?? show(c))
