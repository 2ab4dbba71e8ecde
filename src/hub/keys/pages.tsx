import type { Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { requireSameOrigin, sessionCookie } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { type PageContext, page, sendPage } from '../web/answer-page'
import type { FormProblem } from '../web/frame'
import { isOfflineHub } from '../web/is-offline-hub'
import { localPath } from '../web/local-path'
import { toProblem } from '../web/problem'
import { readForm } from '../web/read-form'
import { signIn, signOut } from './actions'
import { LoginPage } from './login-page'

/** `GET /login` (also with a sign-in link's `?token=`), `POST /login`, `POST /logout`. */
export function registerLoginPages(app: Hono<HubEnv>): void {
  app.get(
    '/login',
    page((c) => {
      const token = c.req.query('token')
      const next = localPath(c.req.query('next'))
      return token ? enter(c, { token }, next) : showLogin(c, next, null)
    }),
  )
  app.post(
    '/login',
    page(async (c) => {
      requireSameOrigin(c.req.raw)
      const form = await readForm(c)
      return enter(c, { key: form('key') }, localPath(form('next')))
    }),
  )
  app.post(
    '/logout',
    page(async (c) => {
      requireSameOrigin(c.req.raw)
      const token = getCookie(c, sessionCookie)
      if (token) await signOut(c.var.context, token)
      setSession(c, '', 0)
      return c.redirect('/', 303)
    }),
  )
}

async function enter(
  c: PageContext,
  shown: { key: string } | { token: string },
  next: string,
): Promise<Response> {
  try {
    const session = await signIn(c.var.context, shown)
    setSession(c, session.token, session.expiresAt)
    return c.redirect(next, 303)
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    return showLogin(c, next, status === 401 ? wrongSecret(shown) : problem, status)
  }
}

const wrongSecret = (shown: object): FormProblem =>
  'key' in shown
    ? { message: 'No account has this key.', hint: 'Check that you pasted the whole key.' }
    : {
        message: 'This sign-in link has expired.',
        hint: 'Sign in with your key below, or ask the admin for a new link.',
      }

function setSession(c: PageContext, token: string, expiresAt: number): void {
  setCookie(c, sessionCookie, token, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: new URL(c.req.url).protocol === 'https:',
    expires: new Date(expiresAt),
  })
}

/** Shown on a private hub too, where nothing may be read yet; so it reads nothing. */
function showLogin(
  c: PageContext,
  next: string,
  problem: FormProblem | null,
  status = 200,
): Response | Promise<Response> {
  const { settings, clock } = c.var.context
  const frame = {
    hubName: settings.ROOKERY_NAME,
    viewer: null,
    isOffline: isOfflineHub(settings),
    now: clock.now(),
  }
  return sendPage(c, <LoginPage frame={frame} next={next} problem={problem} />, status)
}
