import type { FC } from 'hono/jsx'
import type { ConnectedAccount } from '../../mcp-servers/contract/connected-accounts'
import { connectPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

interface ConnectPageProps {
  frame: Frame
  /** Name of the remote server. */
  name: string
  description: string
  /** The account that the viewer has connected there already. */
  known: ConnectedAccount | undefined
  /** The path to go on to. */
  next: string
}

/** Asks a person to connect their own account at a remote server. */
export const ConnectPage: FC<ConnectPageProps> = ({ frame, name, description, known, next }) => {
  const isUsable = known !== undefined && known.endedAt === null
  return (
    <Layout frame={frame} title={`Connect your account at ${name}`}>
      <h1>Connect your account at {name}</h1>
      <p class="lede">{description}</p>
      <p class="up3">
        Agents can then use {name} as you, but only in runs that you alone asked for, and only where
        the hub's policy says so. Nobody else's runs use your account, and no agent sees its tokens.
      </p>
      <p class="up2">
        You choose at {name} what you allow. You can disconnect the account at any time in your{' '}
        <a href="/settings/connections">settings</a>.
      </p>
      {isUsable && (
        <p class="up3" role="status">
          Your account is connected. Connect again to choose another account or other permissions.
        </p>
      )}
      <form class="up4" method="post" action={connectPath(name)}>
        <input type="hidden" name="next" value={next} />
        <button class="btn go" type="submit">
          {isUsable ? 'Connect again' : 'Connect'}
        </button>
      </form>
    </Layout>
  )
}
