import type { Hono } from 'hono'
import { type HubEnv, requireViewer } from '../../hub/http/page-entry'
import { createSignInLink, endOtherSessions, endSession } from '../../hub/sign-in/actions'
import { selectOwnSessions } from '../../hub/sign-in/queries'
import { signInLimits } from '../../shared/config'
import { findBrowserOrigin } from '../frame/own-origin'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  settingsPage,
} from './require-sign-in'
import { SessionsPage } from './sessions-page'

/** Registers `/settings/sessions`: where the viewer is signed in. */
export function registerSessionSettings(app: Hono<HubEnv>): void {
  app.get(
    '/settings/sessions',
    settingsPage((c) => showSessions(c, null)),
  )
  app.post(
    '/settings/sessions/end',
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await endSession(c.var.context, viewer.id, (await readForm(c))('id'))
      return c.redirect('/settings/sessions', 303)
    }),
  )
  app.post(
    '/settings/sessions/end-others',
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await endOtherSessions(c.var.context, viewer.id, viewer.keyId ?? '')
      return c.redirect('/settings/sessions', 303)
    }),
  )
  app.post('/settings/sessions/link', page(createLink))
}

async function createLink(c: PageContext): Promise<Response> {
  const viewer = await requireReadingSender(c)
  const { token } = await createSignInLink(c.var.context, viewer.id, {
    askedBy: viewer.keyId,
    actor: await readFormActor(c, viewer),
    minutes: signInLimits.deviceLinkMinutes,
  })
  const url = new URL('/login', findBrowserOrigin(c))
  url.searchParams.set('token', token)
  return showSessions(c, url.href)
}

async function showSessions(c: PageContext, link: string | null): Promise<Response> {
  const credential = await requireCredential(c)
  const { frame, answers } = await readPage(c, {
    sessions: selectOwnSessions(credential, c.var.context.clock.now()),
  })
  assertSignedIn(frame)
  return sendPage(c, <SessionsPage frame={frame} sessions={answers.sessions} link={link} />)
}
