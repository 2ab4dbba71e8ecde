import type { FC } from 'hono/jsx'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

interface LinkPageProps {
  frame: Frame
  /** The account that the link signs in. */
  name: string
  token: string
  next: string
}

/**
 * The page of a sign-in link. Its button signs in, because programs that scan mail or load pages ahead open
 * links too.
 */
export const LinkPage: FC<LinkPageProps> = ({ frame, name, token, next }) => (
  <Layout frame={frame} title="Sign in">
    <h1>Sign in to {frame.hubName}</h1>
    <p class="lede">The link works once, in one browser.</p>
    <form class="form up4" method="post" action="/login/link">
      <input type="hidden" name="token" value={token} />
      <input type="hidden" name="next" value={next} />
      <div>
        <button class="btn go" type="submit" autofocus>
          Continue as {name}
        </button>
      </div>
    </form>
  </Layout>
)
