import { and, eq, gt, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import { many, one, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import type { Sealed } from '../credentials/cipher'
import { connectAttempts, connectedAccounts, oauthClients, remoteServers } from '../schema'

export type ConnectedRow = typeof connectedAccounts.$inferSelect
export type AttemptRow = typeof connectAttempts.$inferSelect
export type ClientRow = typeof oauthClients.$inferSelect

interface Place {
  accountId: AccountId
  service: string
}

const isOf = ({ accountId, service }: Place) =>
  and(eq(connectedAccounts.accountId, accountId), eq(connectedAccounts.service, service))

/** The tokens that a call has read: not replaced, renewed or ended since. */
const isStill = ({ id, version }: Pick<ConnectedRow, 'id' | 'version'>) =>
  and(
    eq(connectedAccounts.id, id),
    eq(connectedAccounts.version, version),
    isNull(connectedAccounts.endedAt),
  )

export const selectConnected = (place: Place): Statement<ConnectedRow | undefined> =>
  one(orm.select().from(connectedAccounts).where(isOf(place)))

/** Selects what an account has connected, without tokens. @param accountId an expression */
export const selectConnectedBy = (accountId: SQL) =>
  many(
    orm
      .select({
        service: connectedAccounts.service,
        destination: connectedAccounts.destination,
        issuer: connectedAccounts.issuer,
        scopes: connectedAccounts.scopes,
        endedAt: connectedAccounts.endedAt,
        connectedAt: connectedAccounts.connectedAt,
        lastUsedAt: connectedAccounts.lastUsedAt,
      })
      .from(connectedAccounts)
      .where(sql`${connectedAccounts.accountId} = ${accountId}`)
      .orderBy(connectedAccounts.service),
  )

/** Inserts a connection; an earlier one of the account at the service is replaced. */
export function upsertConnected(row: ConnectedRow): Statement<void> {
  const { accountId: _, service: __, ...set } = row
  return write(
    orm
      .insert(connectedAccounts)
      .values(row)
      .onConflictDoUpdate({
        target: [connectedAccounts.accountId, connectedAccounts.service],
        set,
      }),
  )
}

/** Deletes a connection and returns it, so that its tokens can be revoked. */
export const takeConnected = (place: Place): Statement<ConnectedRow | undefined> =>
  one(orm.delete(connectedAccounts).where(isOf(place)).returning())

/** Lets one call renew the tokens; answers whether it is this one. */
export const leaseRenewal = (
  row: Pick<ConnectedRow, 'id' | 'version'>,
  { now, until }: { now: number; until: number },
): Statement<boolean> =>
  writeChanges(
    orm
      .update(connectedAccounts)
      .set({ renewingUntil: until })
      .where(
        and(
          isStill(row),
          or(isNull(connectedAccounts.renewingUntil), lte(connectedAccounts.renewingUntil, now)),
        ),
      ),
  )

/** Stores renewed tokens; answers whether the connection still exists. */
export const storeRenewed = (
  row: Pick<ConnectedRow, 'id' | 'version'>,
  renewed: Sealed & Pick<ConnectedRow, 'expiresAt' | 'scopes'>,
): Statement<boolean> =>
  writeChanges(
    orm
      .update(connectedAccounts)
      .set({ ...renewed, version: row.version + 1, renewingUntil: null })
      .where(isStill(row)),
  )

/** Lets another call try to renew the tokens. */
export const releaseRenewal = (row: Pick<ConnectedRow, 'id' | 'version'>): Statement<void> =>
  write(orm.update(connectedAccounts).set({ renewingUntil: null }).where(isStill(row)))

/** Ends a connection whose tokens are worthless; its row stays for the list of the account. */
export const endConnected = (
  row: Pick<ConnectedRow, 'id' | 'version'>,
  now: number,
): Statement<void> =>
  write(
    orm.update(connectedAccounts).set({ endedAt: now, renewingUntil: null }).where(isStill(row)),
  )

/** Stores the last use, and the tokens when they were encrypted again. */
export const touchConnected = (
  row: Pick<ConnectedRow, 'id' | 'version'>,
  set: { lastUsedAt: number } & Partial<Sealed>,
): Statement<void> => write(orm.update(connectedAccounts).set(set).where(isStill(row)))

/** Deletes all connections of an account and returns them, so that their tokens can be revoked. */
export const takeConnectedOf = (accountId: AccountId) => ({
  connected: many(
    orm.delete(connectedAccounts).where(eq(connectedAccounts.accountId, accountId)).returning(),
  ),
  attempts: write(orm.delete(connectAttempts).where(eq(connectAttempts.accountId, accountId))),
})

/** Deletes all connections at a server and returns them, so that their tokens can be revoked. */
export const takeConnectedAt = (service: string) => ({
  connected: many(
    orm.delete(connectedAccounts).where(eq(connectedAccounts.service, service)).returning(),
  ),
  attempts: write(orm.delete(connectAttempts).where(eq(connectAttempts.service, service))),
  clients: write(orm.delete(oauthClients).where(eq(oauthClients.service, service))),
})

/** Stores an attempt; an earlier one of the account for the service is replaced. */
export function upsertAttempt(row: AttemptRow): Statement<void> {
  const { accountId: _, service: __, ...set } = row
  return write(
    orm
      .insert(connectAttempts)
      .values(row)
      .onConflictDoUpdate({ target: [connectAttempts.accountId, connectAttempts.service], set }),
  )
}

export const deleteExpiredAttempts = (now: number): Statement<void> =>
  write(orm.delete(connectAttempts).where(lte(connectAttempts.expiresAt, now)))

/** Deletes an attempt and returns it: for its account and session alone, once, until it expires. */
export const takeAttempt = (
  {
    stateHash,
    accountId,
    sessionHash,
  }: Pick<AttemptRow, 'stateHash' | 'accountId' | 'sessionHash'>,
  now: number,
): Statement<AttemptRow | undefined> =>
  one(
    orm
      .delete(connectAttempts)
      .where(
        and(
          eq(connectAttempts.stateHash, stateHash),
          eq(connectAttempts.accountId, accountId),
          eq(connectAttempts.sessionHash, sessionHash),
          gt(connectAttempts.expiresAt, now),
        ),
      )
      .returning(),
  )

type ClientPlace = Pick<ClientRow, 'service' | 'issuer' | 'redirectUri'>

export const selectClient = ({
  service,
  issuer,
  redirectUri,
}: ClientPlace): Statement<ClientRow | undefined> =>
  one(
    orm
      .select()
      .from(oauthClients)
      .where(
        and(
          eq(oauthClients.service, service),
          eq(oauthClients.issuer, issuer),
          eq(oauthClients.redirectUri, redirectUri),
        ),
      ),
  )

export function upsertClient(row: ClientRow): Statement<void> {
  const { service: _, issuer: __, redirectUri: ___, ...set } = row
  return write(
    orm
      .insert(oauthClients)
      .values(row)
      .onConflictDoUpdate({
        target: [oauthClients.service, oauthClients.issuer, oauthClients.redirectUri],
        set,
      }),
  )
}

/** Selects the client id that an admin registered for the hub at a server, if any. */
export const selectGivenClient = (
  service: string,
): Statement<{ clientId: string | null } | undefined> =>
  one(
    orm
      .select({ clientId: remoteServers.oauthClientId })
      .from(remoteServers)
      .where(eq(remoteServers.name, service)),
  )
