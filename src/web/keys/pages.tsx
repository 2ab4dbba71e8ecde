import type { Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { requireSameOrigin, sessionCookie } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import { signIn, signOut } from '../../hub/keys/actions'
import { AppError } from '../../shared/errors'
import { toProblem } from '../form/to-problem'
import type { FormProblem } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, sendPage } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { isOfflineHub } from '../parts/is-offline-hub'
import { LoginPage } from './login-page'

/** Registers `GET /login` (also with a sign-in link's `?token=`), `POST /login` and `POST /logout`. */
export function registerLoginPages(app: Hono<HubEnv>): void {
  app.get(
    '/login',
    page((c) => {
      const token = c.req.query('token')
      const next = toLocalPath(c.req.query('next'))
      return token ? openSession(c, { token }, next) : showLogin(c, next, null)
    }),
  )
  app.post(
    '/login',
    page(async (c) => {
      requireSameOrigin(c.req.raw)
      const form = await readForm(c)
      return openSession(c, { key: form('key') }, toLocalPath(form('next')))
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

async function openSession(
  c: PageContext,
  credential: { key: string } | { token: string },
  next: string,
): Promise<Response> {
  try {
    const session = await signIn(c.var.context, credential)
    setSession(c, session.token, session.expiresAt)
    return c.redirect(next, 303)
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    return showLogin(c, next, toSignInProblem(error) ?? problem, status)
  }
}

/** The error of a rejected key or link; `toProblem` would report an expired session instead. */
const toSignInProblem = (error: unknown): FormProblem | null =>
  error instanceof AppError && error.code === 'UNAUTHORIZED'
    ? { message: error.message, hint: error.hint }
    : null

function setSession(c: PageContext, token: string, expiresAt: number): void {
  setCookie(c, sessionCookie, token, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: new URL(c.req.url).protocol === 'https:',
    expires: new Date(expiresAt),
  })
}

/** Renders the login form. Reads nothing from the database, because a private hub shows it to anybody. */
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
