import { connectedAccounts as limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { ConnectedAccountsApi } from '../contract/connected-accounts'
import type { OwnAccounts } from '../credentials/own-accounts'
import type { ConnectedAccountsOfServers } from '../remote/remotes'
import { toDestination } from '../services/destination'
import { selectService } from '../services/queries'
import type { AccountsDeps } from './accounts-deps'
import { beginConnection } from './begin'
import { contextOf, type Grant, openValue } from './grant'
import { openAccount } from './open'
import { deleteConnectedAt, selectConnected, selectConnectedBy, takeConnected } from './queries'
import { revokeGrant } from './revoke'

/** Creates the store of the accounts that people have connected at remote MCP servers. */
export const createConnectedAccounts = (
  deps: AccountsDeps,
): ConnectedAccountsApi & OwnAccounts & ConnectedAccountsOfServers => ({
  select: selectConnectedBy,
  begin: (start) => beginConnection(deps, start),
  disconnect: (accountId, service) => disconnect(deps, accountId, service),
  open: (owner, service, link) => openAccount(deps, owner, service, link),
  has: async (accountId, service) => {
    const row = await run(deps.db, selectConnected({ accountId, service }))
    return row !== undefined && row.endedAt === null
  },
  deleteAt: deleteConnectedAt,
})

/** Ends a connection here at once, then revokes its tokens. Returns whether they were revoked. */
async function disconnect(
  { db, cipher, isPrivateAllowed, resolve }: AccountsDeps,
  accountId: AccountId,
  service: string,
): Promise<{ isRevoked: boolean }> {
  const { taken, row } = await batch(db, {
    taken: takeConnected({ accountId, service }),
    row: selectService('remote', service),
  })
  if (!taken) throw notFound('connected account')
  // A server that moved is another one: it must not receive these tokens, nor name where they go.
  if (!row || toDestination(row.baseUrl) !== taken.destination) return { isRevoked: false }
  const grant = await openValue<Grant>(cipher, taken, contextOf.grant(taken)).catch(() => null)
  const signal = AbortSignal.timeout(limits.stepMs)
  const link = { service: row, isPrivateAllowed, resolve, signal }
  return { isRevoked: grant !== null && (await revokeGrant(link, grant)) }
}
