import type { FC } from 'hono/jsx'
import type { SessionRow } from '../../hub/sign-in/queries'
import { limits, signInLimits } from '../../shared/config'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { RelativeTime } from '../parts/relative-time'
import { SettingsLayout } from './settings-layout'

interface SessionsPageProps {
  frame: Frame
  sessions: readonly SessionRow[]
  /** A link that was just created; shown once. */
  link: string | null
}

export const SessionsPage: FC<SessionsPageProps> = ({ frame, sessions, link }) => (
  <SettingsLayout
    frame={frame}
    tab="sessions"
    title="Sessions"
    {...(link !== null && { scripts: ['copy'] })}
  >
    <section class="block">
      <h2>Signed in on</h2>
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
              <button class="btn" type="submit">
                Sign out<span class="vh"> {session.label}</span>
              </button>
            </form>
          </li>
        ))}
      </ul>
      {sessions.length > 1 && sessions.some(({ isCurrent }) => isCurrent) && (
        <form class="up4" method="post" action="/settings/sessions/end-others">
          <button class="btn" type="submit">
            Sign out everywhere else
          </button>
        </form>
      )}
      <p class="meta up4">
        A session ends after {limits.sessionDays} days, or with the key, passkey or linked account
        that opened it.
      </p>
    </section>
    <section class="block">
      <h2>Sign in on another device</h2>
      {link === null ? (
        <>
          <p class="lede">
            Create a link and open it on the other device. It works once, within{' '}
            {signInLimits.deviceLinkMinutes} minutes.
          </p>
          <form class="up4" method="post" action="/settings/sessions/link">
            <FormKey />
            <button class="btn" type="submit">
              Create link
            </button>
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
    </section>
  </SettingsLayout>
)
