import type { FC } from 'hono/jsx'
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

export const LoginPage: FC<{ frame: Frame; form: LoginFormState }> = ({ frame, form }) => (
  <Layout frame={frame} title="Sign in">
    <h1>Sign in</h1>
    <p class="lede">
      Enter the key of your account. The key was shown once, when the account was created.
    </p>
    <div class="up5">
      <ErrorSummary problem={form.problem} />
      <form class="form" method="post" action="/login">
        <input type="hidden" name="next" value={form.typed.next} />
        <Field
          form={form}
          name="key"
          label="Key"
          isBare
          type="password"
          required
          autocomplete="current-password"
          autofocus
          spellcheck={false}
        />
        <div>
          <button class="btn go" type="submit">
            Sign in
          </button>
        </div>
      </form>
    </div>
    <p class="meta up5">
      On your own machine, <code>npm start</code> prints a sign-in link for the admin. No account
      yet? Ask an admin of this hub, or <a href="/docs#accounts">register an account with curl</a>.
    </p>
  </Layout>
)
