import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import {
  type HubEnv,
  requireSession,
  requireViewer,
  toErrorResponse,
} from '../../hub/http/page-entry'
import {
  createSignInLink,
  describeDevice,
  endOtherSessions,
  endSession,
} from '../../hub/sign-in/actions'
import { listProviders, type Provider, unlinkIdentity } from '../../hub/sign-in/identity-actions'
import {
  addPasskey,
  addPasskeyInput,
  removePasskey,
  startAddingPasskey,
  toRpId,
} from '../../hub/sign-in/passkey-actions'
import {
  type LinkNotice,
  type OwnIdentity,
  type OwnPasskey,
  type SessionRow,
  selectLinkNotices,
  selectOwnIdentities,
  selectOwnPasskeys,
  selectOwnSessions,
} from '../../hub/sign-in/queries'
import { limits, signInLimits } from '../../shared/config'
import { formatExact } from '../../shared/format'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { findBrowserOrigin, findSite } from '../frame/requests'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { LinkOrigin } from '../parts/links'
import { RelativeTime } from '../parts/times'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  SettingsLayout,
  settingsPage,
} from './settings'

const path = '/settings/sign-in'

/** Registers `/settings/sign-in`: passkeys and linked accounts of the viewer. */
export function registerSignInSettings(app: Hono<HubEnv>): void {
  app.get(path, settingsPage(showSignIn))
  app.post(`${path}/passkeys/options`, page(sendOptions))
  app.post(`${path}/passkeys`, page(sendPasskey))
  app.post(
    `${path}/passkeys/delete`,
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await removePasskey(c.var.context, viewer.id, (await readForm(c))('id'))
      return c.redirect(path, 303)
    }),
  )
  app.post(
    `${path}/identities/delete`,
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await unlinkIdentity(c.var.context, viewer.id, (await readForm(c))('id'))
      return c.redirect(path, 303)
    }),
  )
}

/** Sends what the script gives to the device. */
async function sendOptions(c: PageContext): Promise<Response> {
  try {
    const { viewer, sessionId } = await requireSession(c)
    const { id, name, displayName } = viewer
    const account = { id, sessionId, name, displayName }
    return c.json(await startAddingPasskey(c.var.context, account, findSite(c)))
  } catch (error) {
    return toErrorResponse(c, error)
  }
}

async function sendPasskey(c: PageContext): Promise<Response> {
  const read = readFormWith(addPasskeyInput, await readForm(c), passkeyForm)
  try {
    const { viewer, sessionId } = await requireSession(c)
    if (!read.isValid) return showSignIn(c, read.form, 400)
    await addPasskey(c.var.context, { id: viewer.id, sessionId }, findSite(c), read.value)
    return c.redirect(path, 303)
  } catch (error) {
    const { form, status } = rejectForm(passkeyForm, read.form, error)
    return showSignIn(c, form, status)
  }
}

/** @param form null: with the name of this device */
async function showSignIn(
  c: PageContext,
  form: PasskeyFormState | null = null,
  status = 200,
): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    passkeys: selectOwnPasskeys(credential, now),
    identities: selectOwnIdentities(credential, now),
    notices: selectLinkNotices(credential, now),
  })
  assertSignedIn(frame)
  const empty = createForm({ label: describeDevice(c.req.header('user-agent')), response: '' })
  const props = {
    frame,
    ...answers,
    form: form ?? empty,
    rpId: toRpId(findBrowserOrigin(c)),
    providers: listProviders(c.var.context.settings),
  }
  return sendPage(c, <SignInSettingsPage {...props} />, status)
}

type PasskeyField = 'label' | 'response'
type PasskeyFormState = FormState<PasskeyField>

const passkeyForm: FormDefinition<PasskeyField> = {
  rejected: 'The passkey was not added.',
  fields: {
    label: { message: 'Enter a name of at most 60 characters.' },
    response: { isSecret: true, message: 'Your browser sent no passkey.' },
  },
}

interface SignInSettingsProps {
  frame: Frame
  form: PasskeyFormState
  passkeys: readonly OwnPasskey[]
  identities: readonly OwnIdentity[]
  providers: readonly Provider[]
  notices: readonly LinkNotice[]
  /** The domain of this address: passkeys of another one do not work here. */
  rpId: string
}

const SignInSettingsPage: FC<SignInSettingsProps> = (props) => (
  <SettingsLayout frame={props.frame} tab="sign-in" title="Sign-in" scripts={['passkeys']}>
    <LinkNotices notices={props.notices} />
    <Passkeys {...props} />
    <Identities {...props} />
  </SettingsLayout>
)

const Passkeys: FC<SignInSettingsProps> = ({ frame, form, passkeys, identities, rpId }) => (
  <Block title="Passkeys">
    <p class="lede">
      Sign in with the fingerprint, face or PIN of a device, or with a security key. Deleting a
      passkey signs out the browsers that used it.
    </p>
    <ul class="list up4">
      {passkeys.map((passkey) => (
        <li>
          <div>
            <strong>{passkey.label}</strong>
            {passkey.rpId !== rpId && (
              <p class="bad">
                Works on {passkey.rpId} only. Add a new one for {rpId}.
              </p>
            )}
            <Use row={passkey} verb="Added" now={frame.now} />
            <LinkOrigin linkBy={passkey.linkBy} />
          </div>
          <DeleteForm action="/settings/sign-in/passkeys/delete" row={passkey} verb="Delete" />
        </li>
      ))}
    </ul>
    {passkeys.length === 0 && <p>{describeNone(identities)}</p>}
    <div class="up4">
      <ErrorSummary problem={form.problem} />
      <form
        class="form"
        method="post"
        action="/settings/sign-in/passkeys"
        data-passkey="create"
        data-options="/settings/sign-in/passkeys/options"
        hidden
      >
        <input type="hidden" name="response" value="" />
        <Field form={form} name="label" label="Name" required maxlength={60} />
        <div>
          <Submit isMain>Add a passkey</Submit>
          <p class="bad" role="status" data-message />
        </div>
      </form>
      <noscript>
        <p class="meta">Adding a passkey requires JavaScript.</p>
      </noscript>
    </div>
  </Block>
)

const describeNone = (identities: readonly OwnIdentity[]): string =>
  identities.length > 0
    ? 'You have no passkeys yet.'
    : 'You have no passkeys yet. Add a passkey, so that you can sign in again. Without one, ask an admin for a sign-in link when this session has ended.'

const Identities: FC<SignInSettingsProps> = ({ frame, identities, providers }) =>
  (identities.length > 0 || providers.length > 0) && (
    <Block title="Linked accounts">
      <p class="lede">Accounts at other services that sign you in here.</p>
      <ul class="list up4">
        {identities.map((identity) => (
          <li>
            <div>
              <strong>{identity.label}</strong>
              <p class="meta">{new URL(identity.issuer).host}</p>
              <Use row={identity} verb="Linked" now={frame.now} />
              <LinkOrigin linkBy={identity.linkBy} />
            </div>
            <DeleteForm action="/settings/sign-in/identities/delete" row={identity} verb="Unlink" />
          </li>
        ))}
      </ul>
      <ul class="acts up4">
        {providers.map(({ id, label }) => (
          <li>
            <form method="post" action={`/settings/sign-in/${id}`}>
              <Submit>Link {label}</Submit>
            </form>
          </li>
        ))}
      </ul>
    </Block>
  )

interface UsedRow {
  id: string
  label: string
  createdAt: number
  lastUsedAt: number | null
}

const Use: FC<{ row: UsedRow; verb: string; now: number }> = ({ row, verb, now }) => (
  <p class="meta">
    {verb} <RelativeTime at={row.createdAt} now={now} />,{' '}
    {row.lastUsedAt === null ? (
      'not used yet'
    ) : (
      <>
        last used <RelativeTime at={row.lastUsedAt} now={now} />
      </>
    )}
  </p>
)

const DeleteForm: FC<{ action: string; row: UsedRow; verb: string }> = ({ action, row, verb }) => (
  <form method="post" action={action}>
    <input type="hidden" name="id" value={row.id} />
    <Submit>
      {verb}
      <span class="vh"> {row.label}</span>
    </Submit>
  </form>
)

/** Registers `/settings/sessions`: where the viewer is signed in. */
export function registerSessionSettings(app: Hono<HubEnv>): void {
  app.get('/settings/sessions', settingsPage(showSessions))
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

async function showSessions(c: PageContext, link: string | null = null): Promise<Response> {
  const credential = await requireCredential(c)
  const { frame, answers } = await readPage(c, {
    sessions: selectOwnSessions(credential, c.var.context.clock.now()),
  })
  assertSignedIn(frame)
  return sendPage(c, <SessionsPage frame={frame} sessions={answers.sessions} link={link} />)
}

interface SessionsPageProps {
  frame: Frame
  sessions: readonly SessionRow[]
  /** A link that was just created; shown once. */
  link: string | null
}

const SessionsPage: FC<SessionsPageProps> = ({ frame, sessions, link }) => (
  <SettingsLayout
    frame={frame}
    tab="sessions"
    title="Sessions"
    {...(link !== null && { scripts: ['copy'] })}
  >
    <Block title="Signed in on">
      <ul class="list">
        {sessions.map((session) => (
          <li>
            <div>
              <strong>{session.label || 'Unknown device'}</strong>
              {session.isCurrent && ' (this browser)'}
              <p class="meta">
                Signed in <RelativeTime at={session.createdAt} now={frame.now} />, last seen{' '}
                <RelativeTime at={session.lastUsedAt ?? session.createdAt} now={frame.now} />
              </p>
            </div>
            <form method="post" action="/settings/sessions/end">
              <input type="hidden" name="id" value={session.id} />
              <Submit>
                Sign out<span class="vh"> {session.label}</span>
              </Submit>
            </form>
          </li>
        ))}
      </ul>
      {sessions.length > 1 && sessions.some(({ isCurrent }) => isCurrent) && (
        <form class="up4" method="post" action="/settings/sessions/end-others">
          <Submit>Sign out everywhere else</Submit>
        </form>
      )}
      <p class="meta up4">
        A session ends after {limits.sessionDays} days, or with the key, passkey or linked account
        that opened it.
      </p>
    </Block>
    <Block title="Sign in on another device">
      {link === null ? (
        <>
          <p class="lede">
            Create a link and open it on the other device. It works once, within{' '}
            {signInLimits.deviceLinkMinutes} minutes.
          </p>
          <form class="up4" method="post" action="/settings/sessions/link">
            <FormKey />
            <Submit>Create link</Submit>
          </form>
        </>
      ) : (
        <div role="status">
          <p class="lede">
            Open this link on the other device within {signInLimits.deviceLinkMinutes} minutes.
            Whoever has it can sign in as you. It is shown only now.
          </p>
          <p class="code up4" data-copy="sign-in link">
            {link}
          </p>
        </div>
      )}
    </Block>
  </SettingsLayout>
)

/** Shows the sign-in links that others created for the viewer's account. */
export const LinkNotices: FC<{ notices: readonly LinkNotice[] }> = ({ notices }) =>
  notices.length > 0 && (
    <Block title="Sign-in links by others">
      <ul class="list">
        {notices.map(({ by, createdAt }) => (
          <li>
            @{by} created a sign-in link for you on {formatExact(createdAt)}.
          </li>
        ))}
      </ul>
      <p class="meta up2">
        Whoever opened it was signed in as you. If you did not ask for it, sign out everywhere else
        under <a href="/settings/sessions">Sessions</a> and delete what you did not add under{' '}
        <a href="/settings/sign-in">Sign-in</a>.
      </p>
    </Block>
  )
