import type { Hono } from 'hono'
import {
  type EntryRule,
  type HubEnv,
  readCookie,
  requireSameOrigin,
  requireSession,
  toAppError,
  writeCookie,
} from '../../hub/http/page-entry'
import {
  findProvider,
  linkIdentity,
  readIdentity,
  signInWithIdentity,
  startIdentity,
  takeIdentityAttempt,
} from '../../hub/identities/actions'
import { identityErrors } from '../../hub/identities/errors'
import type { Provider, ProviderId } from '../../hub/identities/providers'
import { type Adder, isBegunBy } from '../../hub/sign-in/attempts'
import { createFrame } from '../frame/create-frame'
import { findBrowserOrigin } from '../frame/own-origin'
import { pageErrors } from '../frame/page-errors'
import { readForm } from '../frame/read-form'
import { type PageContext, page, sendPage } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { ContinuePage } from './continue-page'
import { findDevice, redirectSignedIn } from './redirect-signed-in'
import { showRefusal } from './show-login'

/** A visit without an answer does nothing. */
const callbackRule: EntryRule = {
  rate: ({ req }) => (req.query('code') || req.query('error') ? 'signIn' : 'read'),
  body: 'none',
  shows: (c) => readCookie(c, 'sign_in'),
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
      }),
    )
    app.post(
      `/settings/sign-in/${id}`,
      page(async (c) => {
        const { viewer, sessionId } = await requireSession(c)
        const adder = { id: viewer.id, sessionId }
        return startWith(c, findProvider(c.var.context, id), adder, '/settings/sign-in')
      }),
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
  adder: Adder | null,
  next: string,
): Promise<Response> {
  const redirectUri = findRedirectUri(c, provider)
  const started = await startIdentity(c.var.context, provider, redirectUri, { adder, next })
  // Proves that the browser that comes back is the one that started.
  writeCookie(c, 'sign_in', started.token, { expires: new Date(started.expiresAt) })
  const props = { frame: createFrame(c), label: provider.label, url: started.url }
  return sendPage(c, <ContinuePage {...props} />)
}

async function handleCallback(c: PageContext, provider: Provider): Promise<Response> {
  const token = readCookie(c, 'sign_in')
  writeCookie(c, 'sign_in', '', { maxAge: 0 })
  const { context } = c.var
  const answer = { callback: new URL(c.req.url), redirectUri: findRedirectUri(c, provider) }
  let isLinking = false
  try {
    const attempt = await takeIdentityAttempt(context, provider, token)
    const { next = '/' } = attempt.data
    isLinking = attempt.accountId !== null
    const adder = isLinking ? await requireBeginner(c, attempt) : null
    const claims = await readIdentity(context, provider, attempt, answer)
    if (adder === null) {
      const session = await signInWithIdentity(context, provider, claims, findDevice(c))
      return redirectSignedIn(c, session, next)
    }
    await linkIdentity(context, provider, adder, claims)
    return c.redirect(next, 303)
  } catch (error) {
    // Who links an identity is signed in, and needs another way to sign in only when the session has ended.
    if (isLinking && toAppError(error).code !== 'UNAUTHORIZED') throw error
    return showRefusal(c, error, { next: '/' })
  }
}

/** Returns who comes back. @throws FORBIDDEN for any other session than the one that began the attempt */
async function requireBeginner(
  c: PageContext,
  attempt: Parameters<typeof isBegunBy>[0],
): Promise<Adder> {
  const { viewer, sessionId } = await requireSession(c, { isReturning: true }).catch((error) => {
    throw toAppError(error).code === 'UNAUTHORIZED' ? pageErrors.sessionEnded() : error
  })
  const adder = { id: viewer.id, sessionId }
  if (!isBegunBy(attempt, adder)) throw identityErrors.otherSession()
  return adder
}
