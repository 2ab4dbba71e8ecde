import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { claimAccount, claimErrors, claimInput } from '../../hub/accounts/actions'
import { type Claim, selectClaim } from '../../hub/accounts/claim-queries'
import {
  acceptInvitation,
  invitationErrors,
  joinInput,
} from '../../hub/accounts/invitation-actions'
import { selectUsableInvitation, selectUsedInvitation } from '../../hub/accounts/invitation-queries'
import type { Role } from '../../hub/contract/hub'
import {
  type EntryRule,
  type HubEnv,
  requireSameOrigin,
  requireViewer,
} from '../../hub/http/page-entry'
import { roleLabels } from '../../hub/rules/people'
import { run } from '../../shared/db/batch'
import { formatExact } from '../../shared/format'
import { sha256 } from '../../shared/sha256'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { setSessionCookie } from '../frame/requests'
import { createFrame, type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { accountKindTitles } from '../parts/links'

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
  const hash = await sha256(token)
  const invitation = await run(db, selectUsableInvitation(hash, use))
  const frame = createFrame(c)
  if (!invitation) {
    const used = await run(db, selectUsedInvitation(hash))
    if (!used) throw invitationErrors.unusable()
    return sendPage(c, <UsedInvitationPage frame={frame} invitation={used} />, 404)
  }
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
    return c.redirect('/?joined', 303)
  } catch (error) {
    const { form, status } = rejectForm(joinForm, read.form, error)
    return showJoin(c, form, status)
  }
}

type JoinField = 'name' | 'display_name'
type JoinFormState = FormState<JoinField>

const joinForm: FormDefinition<JoinField> = {
  rejected: 'The account was not created.',
  fields: {
    name: {
      parse: (text) => text.trim().toLowerCase(),
      message: 'Use 2 to 32 characters of a-z, 0-9, "_" and "-", without "--".',
    },
    display_name: { message: 'The display name can have at most 60 characters.' },
  },
}

interface JoinPageProps {
  frame: Frame
  invitation: { role: Role; createdBy: string; expiresAt: number }
  form: JoinFormState
  path: string
}

/** Lets an invited person choose a name. */
const JoinPage: FC<JoinPageProps> = ({ frame, invitation, form, path }) => (
  <Layout frame={frame} title={`Join ${frame.hubName}`}>
    <h1>Join {frame.hubName}</h1>
    <p class="lede">
      {invitation.createdBy} invites you, with the role “{roleLabels[invitation.role]}”. The link
      works once, until {formatExact(invitation.expiresAt)}.
    </p>
    <div class="up5">
      <ErrorSummary problem={form.problem} />
      <form class="form" method="post" action={path}>
        <Field
          form={form}
          name="name"
          label="Name"
          hint="How others mention you, such as mira. 2 to 32 characters of a-z, 0-9, _ and -."
          required
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          autofocus
        />
        <Field
          form={form}
          name="display_name"
          label="Display name"
          hint="Optional, such as Mira Park."
          autocomplete="name"
        />
        <div>
          <Submit isMain>Create account</Submit>
        </div>
      </form>
    </div>
  </Layout>
)

interface UsedInvitationProps {
  frame: Frame
  invitation: { createdBy: string; usedAt: number }
}

/** Says to whoever has the link of a used invitation what to do. It does not name who used it. */
const UsedInvitationPage: FC<UsedInvitationProps> = ({ frame, invitation }) => (
  <Layout frame={frame} title="This invitation was used">
    <h1>This invitation was used</h1>
    <p class="lede">
      An account was created with it on {formatExact(invitation.usedAt)}, and each invitation works
      once. If the account is yours, sign in. Otherwise ask {invitation.createdBy} for a new
      invitation.
    </p>
    <p class="up5">
      <a class="btn" href="/login">
        Sign in
      </a>
    </p>
  </Layout>
)

const roleOptions = {
  guest: 'Guest: can make agents read and answer',
  member: 'Member: can make agents do what members can',
}

/** Asks a member to vouch for an account that registered itself. */
const ClaimPage: FC<{ frame: Frame; claim: Claim; path: string }> = (props) => {
  const { frame, claim, path } = props
  return (
    <Layout frame={frame} title={`Claim ${claim.name}`}>
      <h1>Claim {claim.name}</h1>
      <p class="lede">
        {claim.name} registered itself and asks a member of {frame.hubName} to vouch for it.
      </p>
      <dl class="def up4">
        <dt>Name</dt>
        <dd>{claim.name}</dd>
        <dt>Kind</dt>
        <dd>{accountKindTitles[claim.kind]}</dd>
        <dt>Description</dt>
        <dd>{claim.description || 'None'}</dd>
        <dt>Expires</dt>
        <dd>{formatExact(claim.expiresAt)}</dd>
      </dl>
      <p class="up4">
        Claim {claim.name} only if you run it or trust whoever does. You become its owner: what
        agents of this hub spend for {claim.name} also counts against your budget, and its page
        shows you as the owner.
      </p>
      <form class="form up4" method="post" action={path}>
        <Field
          form={createForm({ role: 'member' })}
          as="select"
          name="role"
          label="Role"
          options={roleOptions}
        />
        <div>
          <Submit isMain>Claim {claim.name}</Submit>
        </div>
      </form>
    </Layout>
  )
}
