import type { Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import {
  type EntryRule,
  type HubEnv,
  requireSameOrigin,
  requireViewer,
} from '../../hub/http/page-entry'
import {
  findProvider,
  finishIdentity,
  linkIdentity,
  signInWithIdentity,
  startIdentity,
} from '../../hub/identities/actions'
import type { Claims } from '../../hub/identities/ask-provider'
import { identityErrors } from '../../hub/identities/errors'
import type { Provider, ProviderId } from '../../hub/identities/providers'
import type { AccountId } from '../../shared/ids'
import { createFrame } from '../frame/create-frame'
import { findBrowserOrigin } from '../frame/own-origin'
import { readForm } from '../frame/read-form'
import { type PageContext, page, sendPage } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { ContinuePage } from './continue-page'
import { findDevice, redirectSignedIn } from './redirect-signed-in'
import { showRefusal } from './show-login'

/** Proves that the browser that comes back is the one that started. */
const attemptCookie = 'rookery_sign_in'

const startRule: EntryRule = { rate: 'signIn', body: 'form' }
/** A visit without an answer does nothing. */
const callbackRule: EntryRule = {
  rate: ({ req }) => (req.query('code') || req.query('error') ? 'signIn' : 'read'),
  body: 'none',
}

/**
 * Registers, for each kind of provider, the forms that start signing in (`POST /login/oidc`) and linking
 * (`POST /settings/sign-in/oidc`), and the page that the provider sends the browser back to.
 */
export function registerIdentityPages(app: Hono<HubEnv>): void {
  for (const id of ['oidc', 'github'] as const satisfies ProviderId[]) {
    app.post(
      `/login/${id}`,
      page(async (c) => {
        requireSameOrigin(c)
        const next = toLocalPath((await readForm(c))('next'))
        try {
          return await startWith(c, findProvider(c.var.context, id), null, next)
        } catch (error) {
          return showRefusal(c, error, { next })
        }
      }, startRule),
    )
    app.post(
      `/settings/sign-in/${id}`,
      page(async (c) => {
        const viewer = await requireViewer(c, 'write')
        requireSameOrigin(c)
        const linking = { accountId: viewer.id, keyId: viewer.keyId }
        return startWith(c, findProvider(c.var.context, id), linking, '/settings/sign-in')
      }, startRule),
    )
    app.get(
      `/login/${id}/callback`,
      page((c) => handleCallback(c, findProvider(c.var.context, id)), callbackRule),
    )
  }
}

const findRedirectUri = (c: PageContext, { id }: Provider): string =>
  `${findBrowserOrigin(c)}/login/${id}/callback`

async function startWith(
  c: PageContext,
  provider: Provider,
  linking: Parameters<typeof startIdentity>[3]['linking'],
  next: string,
): Promise<Response> {
  const redirectUri = findRedirectUri(c, provider)
  const started = await startIdentity(c.var.context, provider, redirectUri, { linking, next })
  setCookie(c, attemptCookie, started.token, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/login',
    secure: c.var.isSecure,
    expires: new Date(started.expiresAt),
  })
  const props = { frame: createFrame(c), label: provider.label, url: started.url }
  return sendPage(c, <ContinuePage {...props} />)
}

async function handleCallback(c: PageContext, provider: Provider): Promise<Response> {
  const token = getCookie(c, attemptCookie)
  deleteCookie(c, attemptCookie, { path: '/login' })
  const redirectUri = findRedirectUri(c, provider)
  const answer = { callback: new URL(c.req.url), redirectUri, token }
  let linking: { accountId: AccountId; claims: Claims; next: string }
  try {
    const { claims, accountId, next } = await finishIdentity(c.var.context, provider, answer)
    if (accountId === null) {
      const session = await signInWithIdentity(c.var.context, provider, claims, findDevice(c))
      return redirectSignedIn(c, session, next)
    }
    linking = { accountId, claims, next }
  } catch (error) {
    return showRefusal(c, error, { next: '/' })
  }
  // The provider's redirect is a request of another site; the attempt proves who started it.
  const viewer = await requireViewer(c, 'read')
  if (viewer.id !== linking.accountId) throw identityErrors.otherSession()
  await linkIdentity(c.var.context, provider, viewer, linking.claims)
  return c.redirect(linking.next, 303)
}
