import type { FC } from 'hono/jsx'
import type {
  ConnectErrorCode,
  ConnectedAccount,
} from '../../mcp-servers/contract/connected-accounts'
import { connectPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { RelativeTime } from '../parts/relative-time'
import { SettingsLayout } from '../settings/settings-layout'

const errorTexts: Record<ConnectErrorCode, string> = {
  EXPIRED:
    'The account was not connected: the visit expired, or it was started in another browser. Connect it again.',
  DENIED: 'The account was not connected, because you did not allow it.',
  FAILED: 'The account was not connected: the service gave an unexpected answer. Try again later.',
}

type DoneCode = 'REVOKED' | 'ENDED'

const doneTexts: Record<DoneCode, string> = {
  REVOKED: 'The account is disconnected, and the service has revoked the access.',
  ENDED:
    'The account is disconnected here. The service did not confirm that it revoked the access. You can remove this hub in your settings there.',
}

interface ConnectionNotice {
  isError: boolean
  text: string
}

const isKeyOf = <Key extends string>(texts: Record<Key, string>, key: string): key is Key =>
  Object.hasOwn(texts, key)

/** Returns what a page says after a visit or a form; null for codes that do not exist. */
export function toConnectionNotice(error = '', done = ''): ConnectionNotice | null {
  if (isKeyOf(errorTexts, error)) return { isError: true, text: errorTexts[error] }
  return isKeyOf(doneTexts, done) ? { isError: false, text: doneTexts[done] } : null
}

interface ConnectionsPageProps {
  frame: Frame
  notice: ConnectionNotice | null
  connected: readonly ConnectedAccount[]
}

/** The accounts at remote servers that the viewer has connected. */
export const ConnectionsPage: FC<ConnectionsPageProps> = ({ frame, notice, connected }) => (
  <SettingsLayout frame={frame} tab="connections" title="Connections">
    <section class="block">
      <h2>Connected accounts</h2>
      <p class="lede">
        Accounts at other services that agents use in runs that you alone asked for. Nobody else's
        runs use them.
      </p>
      {notice && (
        <p class={notice.isError ? 'warn up3' : 'up3'} role={notice.isError ? 'alert' : 'status'}>
          {notice.text}
        </p>
      )}
      {connected.length === 0 && (
        <p class="up4">
          No connected accounts yet. When an agent needs one, its answer links to the page where you
          connect it.
        </p>
      )}
      <ul class="list up4">
        {connected.map((account) => (
          <Connection account={account} now={frame.now} />
        ))}
      </ul>
    </section>
  </SettingsLayout>
)

const Connection: FC<{ account: ConnectedAccount; now: number }> = ({ account, now }) => (
  <li id={account.service}>
    <div>
      <strong>{account.service}</strong>
      {account.endedAt !== null && (
        <p class="bad">
          The service ended the access <RelativeTime at={account.endedAt} now={now} />.{' '}
          <a href={connectPath(account.service)}>Connect again</a>
        </p>
      )}
      <p class="meta">
        {toHost(account.destination)}, signed in at {toHost(account.issuer)}
      </p>
      <p class="meta">
        Connected <RelativeTime at={account.connectedAt} now={now} />,{' '}
        {account.lastUsedAt === null ? (
          'not used yet'
        ) : (
          <>
            last used <RelativeTime at={account.lastUsedAt} now={now} />
          </>
        )}
      </p>
      <p class="meta">Permissions: {account.scopes === '' ? 'not named' : account.scopes}</p>
    </div>
    <form method="post" action="/settings/connections/disconnect">
      <input type="hidden" name="service" value={account.service} />
      <button class="btn" type="submit">
        Disconnect<span class="vh"> {account.service}</span>
      </button>
    </form>
  </li>
)

const toHost = (url: string): string => URL.parse(url)?.host ?? url
