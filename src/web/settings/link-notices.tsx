import type { FC } from 'hono/jsx'
import type { LinkNotice } from '../../hub/sign-in/queries'
import { formatExact } from '../../shared/format'

/** Shows the sign-in links that others created for the viewer's account. */
export const LinkNotices: FC<{ notices: readonly LinkNotice[] }> = ({ notices }) =>
  notices.length > 0 && (
    <section class="block">
      <h2>Sign-in links by others</h2>
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
    </section>
  )
