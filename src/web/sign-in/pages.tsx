import type { Hono } from 'hono'
import {
  type EntryRule,
  type HubEnv,
  readCookie,
  requireSameOrigin,
} from '../../hub/http/page-entry'
import { findLinkAccount, signIn, signInInput, signOut } from '../../hub/sign-in/actions'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { createFrame } from '../frame/create-frame'
import { redirectFromAddress } from '../frame/own-origin'
import { readForm } from '../frame/read-form'
import { type PageContext, page, sendPage } from '../frame/send-page'
import { setSessionCookie } from '../frame/session-cookie'
import { toLocalPath } from '../frame/to-local-path'
import { registerIdentityPages } from './identity-pages'
import { LinkPage } from './link-page'
import { loginForm } from './login-page'
import { registerPasskeySignIn } from './passkey-pages'
import { findDevice, redirectSignedIn } from './redirect-signed-in'
import { showLogin, showRefusal } from './show-login'

/** Opening the form is reading; sending it, or opening a sign-in link, is an attempt. */
const signInRule: EntryRule = {
  rate: ({ req }) => (req.method === 'POST' || req.query('token') ? 'signIn' : 'read'),
  body: 'secret',
  async shows(c) {
    if (c.req.method !== 'POST') return c.req.query('token')
    const read = await readForm(c)
    return read('token') || read('key').trim()
  },
}

/** Registers the ways to sign in, and `POST /logout`. */
export function registerSignInPages(app: Hono<HubEnv>): void {
  app.get(
    '/login',
    page((c) => redirectFromAddress(c) ?? openLogin(c), signInRule),
  )
  app.post('/login', page(sendKey, signInRule))
  app.post('/login/link', page(useLink, signInRule))
  registerPasskeySignIn(app)
  registerIdentityPages(app)
  app.post(
    '/logout',
    page(async (c) => {
      requireSameOrigin(c)
      const token = readCookie(c, 'session')
      if (token) await signOut(c.var.context, token)
      setSessionCookie(c, { token: '', expiresAt: 0 })
      return c.redirect('/', 303)
    }),
  )
}

/** Shows the form, or whom the link of `?token=` signs in. Neither signs in. */
async function openLogin(c: PageContext): Promise<Response> {
  const token = c.req.query('token')
  const next = toLocalPath(c.req.query('next'))
  if (!token) return showLogin(c, createForm({ key: '', next }))
  try {
    const name = await findLinkAccount(c.var.context, token)
    const props = { frame: createFrame(c), name, token, next }
    return sendPage(c, <LinkPage {...props} />)
  } catch (error) {
    return showRefusal(c, error, { next })
  }
}

async function sendKey(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const { form, ...read } = readFormWith(signInInput, await readForm(c), loginForm)
  const next = toLocalPath(form.typed.next)
  if (!read.isValid) return showLogin(c, { ...form, typed: { ...form.typed, next } }, 400)
  try {
    return redirectSignedIn(c, await signIn(c.var.context, read.value, findDevice(c)), next)
  } catch (error) {
    return showRefusal(c, error, { next, field: 'key' })
  }
}

async function useLink(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const read = await readForm(c)
  const next = toLocalPath(read('next'))
  try {
    return redirectSignedIn(
      c,
      await signIn(c.var.context, { token: read('token') }, findDevice(c)),
      next,
    )
  } catch (error) {
    return showRefusal(c, error, { next })
  }
}
