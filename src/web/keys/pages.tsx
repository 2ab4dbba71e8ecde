import type { Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import {
  type EntryRule,
  type HubEnv,
  requireSameOrigin,
  sessionCookie,
  toAppError,
} from '../../hub/http/page-entry'
import { signIn, signInInput, signOut } from '../../hub/keys/actions'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { isOfflineHub } from '../frame/is-offline-hub'
import { readForm } from '../frame/read-form'
import { type PageContext, page, sendPage } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { type LoginFormState, LoginPage, loginForm } from './login-page'

/** Opening the form is reading; sending it, or opening a sign-in link, is an attempt. */
const signInRule: EntryRule = {
  rate: ({ req }) => (req.method === 'POST' || req.query('token') ? 'signIn' : 'read'),
  body: 'form',
}

/** Registers `GET /login` (also with a sign-in link's `?token=`), `POST /login` and `POST /logout`. */
export function registerLoginPages(app: Hono<HubEnv>): void {
  app.get(
    '/login',
    page((c) => {
      const token = c.req.query('token')
      const next = toLocalPath(c.req.query('next'))
      const form = createForm({ key: '', next })
      return token ? openSession(c, { token }, form) : showLogin(c, form)
    }, signInRule),
  )
  app.post(
    '/login',
    page(async (c) => {
      requireSameOrigin(c)
      const { form, ...read } = readFormWith(signInInput, await readForm(c), loginForm)
      const local = { ...form, typed: { ...form.typed, next: toLocalPath(form.typed.next) } }
      return read.isValid ? openSession(c, read.value, local) : showLogin(c, local, 400)
    }, signInRule),
  )
  app.post(
    '/logout',
    page(async (c) => {
      requireSameOrigin(c)
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
  form: LoginFormState,
): Promise<Response> {
  try {
    const session = await signIn(c.var.context, credential)
    setSession(c, session.token, session.expiresAt)
    return c.redirect(form.typed.next, 303)
  } catch (error) {
    const { code, status, message, hint } = toAppError(error)
    // toProblem reports UNAUTHORIZED as an ended session; here it is a rejected key or link
    if (code !== 'UNAUTHORIZED') {
      return showLogin(c, rejectForm(loginForm, form, error).form, status)
    }
    const errors = 'key' in credential ? { key: message } : {}
    return showLogin(c, { ...form, errors, problem: { message, hint } }, status)
  }
}

function setSession(c: PageContext, token: string, expiresAt: number): void {
  setCookie(c, sessionCookie, token, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: c.var.isSecure,
    expires: new Date(expiresAt),
  })
}

/** Renders the login form. Reads nothing from the database, because a private hub shows it to anybody. */
function showLogin(
  c: PageContext,
  form: LoginFormState,
  status = 200,
): Response | Promise<Response> {
  const { settings, clock } = c.var.context
  const frame = {
    hubName: settings.ROOKERY_NAME,
    viewer: null,
    isOffline: isOfflineHub(settings),
    now: clock.now(),
  }
  return sendPage(c, <LoginPage frame={frame} form={form} />, status)
}
