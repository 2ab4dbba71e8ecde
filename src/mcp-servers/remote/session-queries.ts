import { and, eq, isNotNull, lte } from 'drizzle-orm'
import { many, one, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { Sealed } from '../credentials/cipher'
import { remoteSessions } from './schema'

export type SessionRow = typeof remoteSessions.$inferSelect

/** Which session of a run a call uses. */
export interface SessionPlace {
  runId: ActivationId
  server: string
  /** The requester whose account is used; '' for a credential of the hub. */
  owner: AccountId | ''
}

const isAt = ({ runId, server, owner }: SessionPlace) =>
  and(
    eq(remoteSessions.runId, runId),
    eq(remoteSessions.server, server),
    eq(remoteSessions.owner, owner),
  )

/** The session that a call has read: no other has been opened in its place since. */
const isStill = (row: SessionPlace & Pick<SessionRow, 'id'>) =>
  and(isAt(row), eq(remoteSessions.id, row.id))

const unsealed = { ciphertext: null, iv: null, keyId: null }

export const selectSession = (place: SessionPlace): Statement<SessionRow | undefined> =>
  one(orm.select().from(remoteSessions).where(isAt(place)))

interface Claim {
  id: string
  now: number
  /** Until when the session is opened. */
  until: number
}

/** Lets one call open the first session in a place; answers whether it is this one. */
export const claimFirst = (
  { runId, server, owner }: SessionPlace,
  { id, now, until }: Claim,
): Statement<boolean> =>
  writeChanges(
    orm
      .insert(remoteSessions)
      .values({
        ...{ runId, server, owner, id, ...unsealed },
        ...{ openingUntil: until, hasEnded: false, usedAt: now },
      })
      .onConflictDoNothing(),
  )

/** Lets one call open a session in place of another; answers whether it is this one. */
export const claimNext = (
  seen: SessionPlace & Pick<SessionRow, 'id'>,
  { id, now, until, hasEnded }: Claim & { hasEnded: boolean },
): Statement<boolean> =>
  writeChanges(
    orm
      .update(remoteSessions)
      .set({ id, ...unsealed, openingUntil: until, hasEnded, usedAt: now })
      .where(isStill(seen)),
  )

/** Stores an opened session; answers whether its run still has this place for it. */
export const storeSession = (
  row: SessionPlace & Pick<SessionRow, 'id'>,
  { ciphertext, iv, keyId }: Sealed,
): Statement<boolean> =>
  writeChanges(
    orm
      .update(remoteSessions)
      .set({ ciphertext, iv, keyId, openingUntil: null, hasEnded: false })
      .where(isStill(row)),
  )

/** Lets another call try to open the session. */
export const releaseClaim = (row: SessionPlace & Pick<SessionRow, 'id'>): Statement<void> =>
  write(orm.update(remoteSessions).set({ openingUntil: null }).where(isStill(row)))

export const touchSession = (
  row: SessionPlace & Pick<SessionRow, 'id'>,
  usedAt: number,
): Statement<void> => write(orm.update(remoteSessions).set({ usedAt }).where(isStill(row)))

/** Deletes the sessions of a run and returns them, so that they can be closed. */
export const takeSessions = (runId: ActivationId): Statement<SessionRow[]> =>
  many(orm.delete(remoteSessions).where(eq(remoteSessions.runId, runId)).returning())

/** Selects open sessions that were not used since a time. */
export const selectIdle = (until: number, limit: number): Statement<SessionRow[]> =>
  many(
    orm
      .select()
      .from(remoteSessions)
      .where(and(lte(remoteSessions.usedAt, until), isNotNull(remoteSessions.ciphertext)))
      .orderBy(remoteSessions.usedAt)
      .limit(limit),
  )

/** Ends a session unless it was used since it was read; answers whether it did. A later call of the run learns of it. */
export const endIdle = (row: SessionRow): Statement<boolean> =>
  writeChanges(
    orm
      .update(remoteSessions)
      .set({ ...unsealed, hasEnded: true })
      .where(and(isStill(row), eq(remoteSessions.usedAt, row.usedAt))),
  )

export const deleteOldSessions = (until: number): Statement<void> =>
  write(orm.delete(remoteSessions).where(lte(remoteSessions.usedAt, until)))
