import type { Hono } from 'hono'
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
  ConnectedAccountsApi,
} from '../../mcp-servers/contract/connected-accounts'
import type { ToolAdminApi } from '../../mcp-servers/contract/tool-admin'
import { notFound } from '../../shared/errors'
import { createFrame } from '../frame/create-frame'
import { findBrowserOrigin } from '../frame/own-origin'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { assertSignedIn, requireCredential } from '../settings/require-sign-in'
import { ContinuePage } from '../sign-in/continue-page'
import { ConnectPage } from './connect-page'
import { ConnectionsPage, toConnectionNotice } from './connections-page'

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
