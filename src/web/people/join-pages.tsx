import type { Hono } from 'hono'
import { claimAccount, claimInput } from '../../hub/claims/actions'
import { claimErrors } from '../../hub/claims/errors'
import { selectClaim } from '../../hub/claims/queries'
import {
  type EntryRule,
  type HubEnv,
  requireSameOrigin,
  requireViewer,
} from '../../hub/http/page-entry'
import { acceptInvitation, joinInput } from '../../hub/invitations/actions'
import { invitationErrors } from '../../hub/invitations/errors'
import { selectUsableInvitation } from '../../hub/invitations/queries'
import { sha256 } from '../../hub/sha256'
import { run } from '../../shared/db/batch'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { createFrame } from '../frame/create-frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { setSessionCookie } from '../frame/session-cookie'
import { ClaimPage } from './claim-page'
import { type JoinFormState, JoinPage, joinForm } from './join-page'

/** A link with a secret: opening one is an attempt, as signing in is. */
const linkRule: EntryRule = {
  rate: ({ req }) => (req.method === 'POST' ? 'register' : 'signIn'),
  body: 'secret',
  // Parameters are those of the route, which has not been entered yet.
  shows: ({ req }) => req.path.split('/').at(-1),
}

/**
 * Registers `/claim/:token`, where a member claims an account, and `/join/:token`, where an invited person
 * creates one. Only the form uses a link up; opening it changes nothing.
 */
export function registerJoinPages(app: Hono<HubEnv>): void {
  app.get('/claim/:token', page(showClaim, linkRule))
  app.post('/claim/:token', page(sendClaim))
  app.get(
    '/join/:token',
    page((c) => showJoin(c, createForm({ name: '', display_name: '' })), linkRule),
  )
  app.post('/join/:token', page(sendJoin, linkRule))
}

const readToken = (c: PageContext): string => c.req.param('token') ?? ''

async function showClaim(c: PageContext): Promise<Response> {
  const token = readToken(c)
  const { frame, answers } = await readPage(c, {
    claim: selectClaim(await sha256(token), c.var.context.clock.now()),
  })
  if (!frame.viewer) throw claimErrors.signInRequired()
  if (!answers.claim) throw claimErrors.unknown()
  return sendPage(c, <ClaimPage frame={frame} claim={answers.claim} path={`/claim/${token}`} />)
}

async function sendClaim(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const token = readToken(c)
  const { db, clock } = c.var.context
  const claim = await run(db, selectClaim(await sha256(token), clock.now()))
  const input = claimInput.parse({ role: read('role') })
  await claimAccount(c.var.context, viewer, token, input)
  return c.redirect(claim ? `/a/${claim.name}` : '/', 303)
}

async function showJoin(c: PageContext, form: JoinFormState, status = 200): Promise<Response> {
  const { db, clock, settings } = c.var.context
  const token = readToken(c)
  const use = { now: clock.now(), membersInvite: settings.ROOKERY_MEMBERS_INVITE }
  // The invitation is the credential, also on a private hub.
  const invitation = await run(db, selectUsableInvitation(await sha256(token), use))
  if (!invitation) throw invitationErrors.unusable()
  const frame = createFrame(c)
  return sendPage(
    c,
    <JoinPage frame={frame} invitation={invitation} form={form} path={`/join/${token}`} />,
    status,
  )
}

async function sendJoin(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const read = readFormWith(joinInput, await readForm(c), joinForm)
  if (!read.isValid) return showJoin(c, read.form, 400)
  try {
    const session = await acceptInvitation(c.var.context, readToken(c), read.value)
    setSessionCookie(c, session)
    // Until the person adds a passkey, this session is their only way in.
    return c.redirect('/settings/sign-in', 303)
  } catch (error) {
    const { form, status } = rejectForm(joinForm, read.form, error)
    return showJoin(c, form, status)
  }
}
