import type { FC } from 'hono/jsx'
import type { Provider } from '../../hub/identities/providers'
import type { OwnIdentity } from '../../hub/identities/queries'
import type { OwnPasskey } from '../../hub/passkeys/queries'
import type { LinkNotice } from '../../hub/sign-in/queries'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import type { FormDefinition, FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { LinkOrigin } from '../parts/link-origin'
import { RelativeTime } from '../parts/relative-time'
import { LinkNotices } from './link-notices'
import { SettingsLayout } from './settings-layout'

type PasskeyField = 'label' | 'response'
export type PasskeyFormState = FormState<PasskeyField>

export const passkeyForm: FormDefinition<PasskeyField> = {
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

export const SignInSettingsPage: FC<SignInSettingsProps> = (props) => (
  <SettingsLayout frame={props.frame} tab="sign-in" title="Sign-in" scripts={['passkeys']}>
    <LinkNotices notices={props.notices} />
    <Passkeys {...props} />
    <Identities {...props} />
  </SettingsLayout>
)

const Passkeys: FC<SignInSettingsProps> = ({ frame, form, passkeys, identities, rpId }) => (
  <section class="block">
    <h2>Passkeys</h2>
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
          <button class="btn go" type="submit">
            Add a passkey
          </button>
          <p class="bad" role="status" data-message />
        </div>
      </form>
      <noscript>
        <p class="meta">Adding a passkey requires JavaScript.</p>
      </noscript>
    </div>
  </section>
)

const describeNone = (identities: readonly OwnIdentity[]): string =>
  identities.length > 0
    ? 'You have no passkeys yet.'
    : 'You have no passkeys yet. Add a passkey, so that you can sign in again. Without one, ask an admin for a sign-in link when this session has ended.'

const Identities: FC<SignInSettingsProps> = ({ frame, identities, providers }) =>
  (identities.length > 0 || providers.length > 0) && (
    <section class="block">
      <h2>Linked accounts</h2>
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
              <button class="btn" type="submit">
                Link {label}
              </button>
            </form>
          </li>
        ))}
      </ul>
    </section>
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
    <button class="btn" type="submit">
      {verb}
      <span class="vh"> {row.label}</span>
    </button>
  </form>
)
