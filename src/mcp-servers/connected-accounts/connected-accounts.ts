import type { ConnectedAccountsEnd } from '../../hub/contract/hub'
import { connectedAccounts, connectedAccounts as limits, outside } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { mapStatement } from '../../shared/db/statement'
import { notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { ConnectedAccountsApi } from '../contract/connected-accounts'
import {
  AccountMissingError,
  type AccountOwner,
  type OwnAccess,
  type OwnAccounts,
} from '../credentials/connection'
import type { ConnectedAccountsOfServers, TakenAccount } from '../remote/remotes'
import { toDestination } from '../services/check-service'
import { type ServiceRow, selectService } from '../services/queries'
import { beginConnection } from './connect'
import {
  type AccountsDeps,
  connectErrors,
  contextOf,
  createOauthFetch,
  explainFailure,
  type Grant,
  isFinal,
  listSecrets,
  loadAuth,
  openValue,
  revokeGrant,
  sealValue,
  toTokens,
} from './oauth'
import {
  type ConnectedRow,
  endConnected,
  leaseRenewal,
  releaseRenewal,
  selectConnected,
  selectConnectedBy,
  storeRenewed,
  takeConnected,
  takeConnectedAt,
  takeConnectedOf,
  touchConnected,
} from './queries'

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

type Link = Parameters<OwnAccounts['open']>[2]

/** The account of one owner at a service, for one call. */
interface Opening {
  deps: AccountsDeps
  owner: AccountOwner
  service: ServiceRow
  link: Link
}

/** Tokens as they were read, and their row. */
interface Opened {
  row: ConnectedRow
  grant: Grant
}

/**
 * Opens the account that a requester has connected. Everything is read by the id of the owner, and the
 * tokens are sealed to it: a row of another account is not found, and not decrypted either.
 *
 * @throws AccountMissingError
 */
async function openAccount(
  deps: AccountsDeps,
  owner: AccountOwner,
  service: ServiceRow,
  link: Link,
): Promise<OwnAccess> {
  const opening: Opening = { deps, owner, service, link }
  let opened = await readGrant(opening)
  const { expiresAt } = opened.row
  if (expiresAt !== null && expiresAt - connectedAccounts.renewBeforeMs <= deps.clock.now()) {
    opened = await renew(opening, opened)
  }
  await touch(deps, opened)
  return {
    token: () => opened.grant.accessToken,
    async renew() {
      opened = await renew(opening, opened)
    },
  }
}

/** @throws AccountMissingError */
async function readGrant({ deps, owner, service, link }: Opening): Promise<Opened> {
  const row = await run(deps.db, selectConnected({ accountId: owner.id, service: service.name }))
  const isUsable = row && row.endedAt === null && row.destination === toDestination(service.baseUrl)
  if (!isUsable) throw new AccountMissingError(owner, service.name)
  const grant = await openValue<Grant>(deps.cipher, row, contextOf.grant(row))
  link.onSecrets(listSecrets(grant))
  return { row, grant }
}

/** Records the last use, at times, and encrypts what an older key encrypted. */
async function touch({ db, clock, cipher }: AccountsDeps, { row, grant }: Opened): Promise<void> {
  const now = clock.now()
  const isOld = row.keyId !== (await cipher.currentId())
  const isStale = row.lastUsedAt === null || now - row.lastUsedAt > outside.lastUsedEveryMs
  if (!isOld && !isStale) return
  const sealed = isOld ? await sealValue(cipher, grant, contextOf.grant(row)) : {}
  await run(db, touchConnected(row, { lastUsedAt: now, ...sealed }))
}

/**
 * Renews tokens. Only one call at a time does: a server that rotates refresh tokens ends the access when
 * one is used twice. The others wait for its result.
 */
async function renew(opening: Opening, seen: Opened): Promise<Opened> {
  const { deps, service, link } = opening
  const deadline = deps.clock.now() + connectedAccounts.renewalMs
  for (;;) {
    const now = deps.clock.now()
    const until = now + connectedAccounts.renewalMs
    if (await run(deps.db, leaseRenewal(seen.row, { now, until }))) {
      return renewAlone(opening, seen)
    }
    const present = await readGrant(opening)
    const isNew = present.row.id !== seen.row.id || present.row.version !== seen.row.version
    if (isNew) return present
    if (now >= deadline || link.signal.aborted) throw connectErrors.busy(service.name)
    await new Promise((resolve) => setTimeout(resolve, connectedAccounts.lookEveryMs))
  }
}

async function renewAlone(opening: Opening, { row, grant }: Opened): Promise<Opened> {
  const { deps, owner, service, link } = opening
  const { db, clock, cipher, isPrivateAllowed, resolve } = deps
  const { metadata, resource, client, refreshToken } = grant
  const end = async () => {
    await run(db, endConnected(row, clock.now()))
    return new AccountMissingError(owner, service.name)
  }
  if (refreshToken === null) throw await end()
  // A cancelled call finishes this: half a rotation would end the access.
  const signal = AbortSignal.timeout(connectedAccounts.timeoutMs)
  const oauth = { service, isPrivateAllowed, resolve, signal }
  try {
    const { refreshAuthorization } = await loadAuth()
    const given = await refreshAuthorization(metadata.issuer, {
      metadata,
      clientInformation: client,
      refreshToken,
      ...(resource !== null && { resource }),
      fetchFn: createOauthFetch(oauth),
    })
    const now = clock.now()
    const { accessToken, expiresAt, scopes, ...rest } = toTokens(service.name, given, {
      asked: row.scopes,
      now,
    })
    const renewed: Grant = { ...grant, accessToken, refreshToken: rest.refreshToken }
    link.onSecrets(listSecrets(renewed))
    const sealed = await sealValue(cipher, renewed, contextOf.grant(row))
    const isStored = await run(db, storeRenewed(row, { ...sealed, expiresAt, scopes }))
    if (isStored) return { row: { ...row, ...sealed, version: row.version + 1 }, grant: renewed }
    // It was disconnected meanwhile.
    await revokeGrant(oauth, renewed)
    throw new AccountMissingError(owner, service.name)
  } catch (error) {
    if (isFinal(error)) throw await end()
    await run(db, releaseRenewal(row))
    throw explainFailure(service.name, error)
  }
}
