import type { FC } from 'hono/jsx'
import type { Provider } from '../../hub/identities/providers'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import type { FormDefinition, FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

type LoginField = 'key' | 'next'
export type LoginFormState = FormState<LoginField>

export const loginForm: FormDefinition<LoginField> = {
  rejected: 'You are not signed in.',
  fields: {
    key: { isSecret: true, message: 'Enter the key of your account.' },
    /** Path to redirect to after signing in. */
    next: { path: null },
  },
}

interface LoginPageProps {
  frame: Frame
  form: LoginFormState
  providers: readonly Provider[]
  /** Whether there are passkeys for an address that the hub no longer has. */
  hasMoved: boolean
}

export const LoginPage: FC<LoginPageProps> = ({ frame, form, providers, hasMoved }) => (
  <Layout frame={frame} title="Sign in" scripts={['passkeys']}>
    <h1>Sign in</h1>
    <div class="up4">
      <ErrorSummary problem={form.problem} />
      {hasMoved && <MovedNotice />}
      <ul class="acts">
        <li>
          <PasskeyForm next={form.typed.next} />
        </li>
        {providers.map(({ id, label }) => (
          <li>
            <form method="post" action={`/login/${id}`}>
              <input type="hidden" name="next" value={form.typed.next} />
              <button class="btn" type="submit">
                Sign in with {label}
              </button>
            </form>
          </li>
        ))}
      </ul>
    </div>
    <section class="block up5">
      <h2>With a key</h2>
      <p class="lede">The key of your account was shown once, when the account was created.</p>
      <form class="form up4" method="post" action="/login">
        <input type="hidden" name="next" value={form.typed.next} />
        <Field
          form={form}
          name="key"
          label="Key"
          isBare
          type="password"
          required
          autocomplete="current-password"
          spellcheck={false}
        />
        <div>
          <button class="btn" type="submit">
            Sign in
          </button>
        </div>
      </form>
    </section>
    <p class="meta up5">
      On your own machine, <code>npm start</code> prints a sign-in link for the admin. No account
      yet? Ask an admin of this hub for an invitation. To register a program, see the{' '}
      <a href="/docs#accounts">docs</a>.
    </p>
  </Layout>
)

/** The button of passkeys. A script shows it and fills in the answer of the device. */
const PasskeyForm: FC<{ next: string }> = ({ next }) => (
  <form
    method="post"
    action="/login/passkey"
    data-passkey="get"
    data-options="/login/passkey/options"
    hidden
  >
    <input type="hidden" name="next" value={next} />
    <input type="hidden" name="response" value="" />
    <button class="btn go" type="submit">
      Sign in with a passkey
    </button>
    <p class="bad" role="status" data-message />
  </form>
)

const MovedNotice: FC = () => (
  <div class="wrong">
    <strong>This hub has a new address.</strong>
    <p>
      Passkeys that were added at the old address do not work here. Ask an admin for a sign-in link,
      then add a passkey again in your settings.
    </p>
  </div>
)
