import type { ConnectedAccountsEnd } from '../../hub/contract/connected-accounts'
import { connectedAccounts as limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { mapStatement } from '../../shared/db/statement'
import { notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { ConnectedAccountsApi } from '../contract/connected-accounts'
import type { OwnAccounts } from '../credentials/own-accounts'
import type { ConnectedAccountsOfServers, TakenAccount } from '../remote/remotes'
import { toDestination } from '../services/destination'
import { type ServiceRow, selectService } from '../services/queries'
import type { AccountsDeps } from './accounts-deps'
import { beginConnection } from './begin'
import { contextOf, type Grant, openValue } from './grant'
import { openAccount } from './open'
import {
  selectConnected,
  selectConnectedBy,
  takeConnected,
  takeConnectedAt,
  takeConnectedOf,
} from './queries'
import { revokeGrant } from './revoke'

/** Creates the store of the accounts that people have connected at remote MCP servers. */
export const createConnectedAccounts = (
  deps: AccountsDeps,
): ConnectedAccountsApi & OwnAccounts & ConnectedAccountsOfServers & ConnectedAccountsEnd => ({
  select: selectConnectedBy,
  begin: (start) => beginConnection(deps, start),
  disconnect: (accountId, service) => disconnect(deps, accountId, service),
  open: (owner, service, link) => openAccount(deps, owner, service, link),
  has: async (accountId, service) => {
    const row = await run(deps.db, selectConnected({ accountId, service }))
    return row !== undefined && row.endedAt === null
  },
  takeAt: takeConnectedAt,
  takeOf(accountId) {
    const { connected, attempts } = takeConnectedOf(accountId)
    return {
      connected: mapStatement(connected, (taken) => () => revokeOfAccount(deps, taken)),
      attempts,
    }
  },
  revoke: (service, taken) => revokeAll(deps, service, taken),
})

/** Accounts whose tokens are revoked at the same time. */
const revokedAtOnce = 4

/** Revokes the tokens of connections that were deleted with their server. Never throws. */
async function revokeAll(
  deps: AccountsDeps,
  service: ServiceRow,
  taken: TakenAccount[],
): Promise<{ failed: number }> {
  const signal = AbortSignal.timeout(limits.stepMs)
  let failed = 0
  for (let at = 0; at < taken.length; at += revokedAtOnce) {
    const some = taken.slice(at, at + revokedAtOnce)
    const done = await Promise.all(some.map((each) => revokeTaken(deps, service, each, signal)))
    failed += done.filter((isRevoked) => !isRevoked).length
  }
  return { failed }
}

/** Revokes the tokens of an account that was deleted, at each server where it had connected one. */
async function revokeOfAccount(deps: AccountsDeps, taken: TakenAccount[]): Promise<void> {
  const signal = AbortSignal.timeout(limits.stepMs)
  const revoke = async (each: TakenAccount): Promise<void> => {
    const service = await run(deps.db, selectService('remote', each.service)).catch(() => undefined)
    if (service) await revokeTaken(deps, service, each, signal)
  }
  for (let at = 0; at < taken.length; at += revokedAtOnce) {
    await Promise.all(taken.slice(at, at + revokedAtOnce).map(revoke))
  }
}

/** A server that moved is another one: it must not receive these tokens, nor name where they go. */
async function revokeTaken(
  { cipher, isPrivateAllowed, resolve }: AccountsDeps,
  service: ServiceRow,
  taken: TakenAccount,
  signal: AbortSignal,
): Promise<boolean> {
  if (toDestination(service.baseUrl) !== taken.destination) return false
  const grant = await openValue<Grant>(cipher, taken, contextOf.grant(taken)).catch(() => null)
  return grant !== null && revokeGrant({ service, isPrivateAllowed, resolve, signal }, grant)
}

/** Ends a connection here at once, then revokes its tokens. Returns whether they were revoked. */
async function disconnect(
  deps: AccountsDeps,
  accountId: AccountId,
  service: string,
): Promise<{ isRevoked: boolean }> {
  const { taken, row } = await batch(deps.db, {
    taken: takeConnected({ accountId, service }),
    row: selectService('remote', service),
  })
  if (!taken) throw notFound('connected account')
  const signal = AbortSignal.timeout(limits.stepMs)
  return { isRevoked: row !== undefined && (await revokeTaken(deps, row, taken, signal)) }
}
