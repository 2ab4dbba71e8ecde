import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import {
  type HubEnv,
  readCredential,
  requireSameOrigin,
  requireSession,
  requireViewer,
} from '../../hub/http/page-entry'
import { viewerIdSql } from '../../hub/viewers/queries'
import type {
  ConnectCallbackPath,
  ConnectErrorCode,
  ConnectedAccount,
  ConnectedAccountsApi,
} from '../../mcp-servers/contract/connected-accounts'
import type { ToolAdminApi } from '../../mcp-servers/contract/tool-admin'
import { notFound } from '../../shared/errors'
import { connectPath } from '../../shared/paths'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { findBrowserOrigin, toLocalPath } from '../frame/requests'
import { createFrame, type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { RelativeTime } from '../parts/times'
import { assertSignedIn, requireCredential, SettingsLayout } from '../settings/settings'
import { ContinuePage } from '../sign-in/pages'

interface ConnectionDeps {
  accounts: ConnectedAccountsApi
  toolAdmin: Pick<ToolAdminApi, 'selectRemoteServers'>
}

const path = '/settings/connections'
const callbackPath: ConnectCallbackPath = '/connect-callback'

/**
 * Registers `/connect/:service`, where a person connects their account at a remote MCP server, and
 * `/settings/connections`, the list of these accounts.
 */
export function registerConnectionPages(app: Hono<HubEnv>, deps: ConnectionDeps): void {
  app.get(
    '/connect/:service',
    page((c) => showConnect(c, deps)),
  )
  app.post(
    '/connect/:service',
    page((c) => connect(c, deps)),
  )
  app.get(
    path,
    page((c) => showConnections(c, deps)),
  )
  app.post(
    `${path}/disconnect`,
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      const service = (await readForm(c))('service')
      const { isRevoked } = await deps.accounts.disconnect(viewer.id, service)
      if (!isRevoked) c.var.context.log.warn('tokens not revoked', { server: service, accounts: 1 })
      return c.redirect(`${path}?done=${isRevoked ? 'REVOKED' : 'ENDED'}`, 303)
    }),
  )
}

/** Selects the connected accounts of the viewer. */
const selectOwn = async (c: PageContext, { accounts }: ConnectionDeps) =>
  accounts.select(viewerIdSql(await readCredential(c), c.var.context.clock.now()))

async function showConnect(c: PageContext, deps: ConnectionDeps): Promise<Response> {
  await requireCredential(c)
  const { frame, answers } = await readPage(c, {
    servers: deps.toolAdmin.selectRemoteServers(),
    connected: await selectOwn(c, deps),
  })
  assertSignedIn(frame)
  const name = c.req.param('service') ?? ''
  const server = answers.servers.find((each) => each.name === name)
  if (!server) throw notFound('remote server')
  const { description } = server
  const known = answers.connected.find(({ service }) => service === name)
  const props = { frame, name, description, known, next: toLocalPath(c.req.query('next') ?? path) }
  return sendPage(c, <ConnectPage {...props} />)
}

async function connect(c: PageContext, { accounts }: ConnectionDeps): Promise<Response> {
  const { viewer, sessionHash } = await requireSession(c)
  requireSameOrigin(c)
  const started = await accounts.begin({
    accountId: viewer.id,
    sessionHash,
    service: c.req.param('service') ?? '',
    redirectUri: `${findBrowserOrigin(c)}${callbackPath}`,
    next: toLocalPath((await readForm(c))('next')),
  })
  return sendPage(c, <ContinuePage frame={createFrame(c)} {...started} />)
}

async function showConnections(c: PageContext, deps: ConnectionDeps): Promise<Response> {
  await requireCredential(c)
  const { frame, answers } = await readPage(c, { connected: await selectOwn(c, deps) })
  assertSignedIn(frame)
  const notice = toConnectionNotice(c.req.query('error'), c.req.query('done'))
  return sendPage(c, <ConnectionsPage frame={frame} notice={notice} {...answers} />)
}

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
function toConnectionNotice(error = '', done = ''): ConnectionNotice | null {
  if (isKeyOf(errorTexts, error)) return { isError: true, text: errorTexts[error] }
  return isKeyOf(doneTexts, done) ? { isError: false, text: doneTexts[done] } : null
}

interface ConnectionsPageProps {
  frame: Frame
  notice: ConnectionNotice | null
  connected: readonly ConnectedAccount[]
}

/** The accounts at remote servers that the viewer has connected. */
const ConnectionsPage: FC<ConnectionsPageProps> = ({ frame, notice, connected }) => (
  <SettingsLayout frame={frame} tab="connections" title="Connections">
    <Block title="Connected accounts">
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
    </Block>
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
      <Submit>
        Disconnect<span class="vh"> {account.service}</span>
      </Submit>
    </form>
  </li>
)

const toHost = (url: string): string => URL.parse(url)?.host ?? url

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
const ConnectPage: FC<ConnectPageProps> = ({ frame, name, description, known, next }) => {
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
        <Submit isMain>{isUsable ? 'Connect again' : 'Connect'}</Submit>
      </form>
    </Layout>
  )
}
