import type { FC } from 'hono/jsx'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem, Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

export interface LoginPageProps {
  frame: Frame
  /** Path to redirect to after signing in. */
  next: string
  problem: FormProblem | null
}

export const LoginPage: FC<LoginPageProps> = ({ frame, next, problem }) => (
  <Layout frame={frame} title="Sign in">
    <h1>Sign in</h1>
    <p class="lede">
      Enter the key of your account. The key was shown once, when the account was created.
    </p>
    <div class="up5">
      <ErrorSummary problem={problem} />
      <form class="form" method="post" action="/login">
        <input type="hidden" name="next" value={next} />
        <label for="key">Key</label>
        <input
          id="key"
          type="password"
          name="key"
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
