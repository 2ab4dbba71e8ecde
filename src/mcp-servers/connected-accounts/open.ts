import { refreshAuthorization } from '@modelcontextprotocol/sdk/client/auth.js'
import { connectedAccounts, outside } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { AccountOwner } from '../credentials/connection'
import { AccountMissingError, type OwnAccess, type OwnAccounts } from '../credentials/own-accounts'
import { toDestination } from '../services/destination'
import type { ServiceRow } from '../services/queries'
import type { AccountsDeps } from './accounts-deps'
import { connectErrors } from './errors'
import { explainFailure, isFinal } from './explain-failure'
import { contextOf, type Grant, listSecrets, openValue, sealValue } from './grant'
import { createOauthFetch } from './oauth-fetch'
import {
  type ConnectedRow,
  endConnected,
  leaseRenewal,
  releaseRenewal,
  selectConnected,
  storeRenewed,
  touchConnected,
} from './queries'
import { revokeGrant } from './revoke'
import { toTokens } from './to-tokens'

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
export async function openAccount(
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
    const given = await refreshAuthorization(metadata.issuer, {
      ...{ metadata, clientInformation: client, refreshToken },
      ...(resource !== null && { resource }),
      fetchFn: createOauthFetch(oauth),
    })
    const now = clock.now()
    const { accessToken, expiresAt, scopes, ...rest } = toTokens(service.name, given, {
      ...{ asked: row.scopes, now },
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
