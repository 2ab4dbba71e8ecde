import { and, eq, notInArray, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { signInLimits } from '../../shared/config'
import { flag, nullable } from '../../shared/db/fields'
import {
  many,
  manySql,
  mapStatement,
  one,
  oneSql,
  orm,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts, type Passkey, passkeys } from '../schema/accounts'
import { guardLimit, prepareForViewer, viewer, viewerCte } from '../viewers/queries'
import { linkBySql } from './queries'

/** @param sessionId the session that adds it */
export const insertPasskey = (
  passkey: Omit<typeof passkeys.$inferInsert, 'linkBy'>,
  sessionId: string,
): Statement<void> =>
  write(orm.insert(passkeys).values({ ...passkey, linkBy: linkBySql(sessionId) }))

/** Fails its batch when an account has as many passkeys as it can have. */
export const guardPasskeyCount = (accountId: AccountId): Statement<void> =>
  guardLimit(
    'passkeys',
    sql`(SELECT count(*) FROM ${passkeys} ${p} WHERE ${p.accountId} = ${accountId})`,
    signInLimits.passkeysPerAccountMax,
  )

/** Selects the passkeys of an account. */
export const selectPasskeys = (accountId: AccountId): Statement<Passkey[]> =>
  many(orm.select().from(passkeys).where(eq(passkeys.accountId, accountId)))

const p = alias(passkeys, 'p')
const by = alias(accounts, 'by')

/** Selects the passkeys of the viewer's account, the last added first. */
export const selectOwnPasskeys = prepareForViewer((v) =>
  manySql(
    {
      id: p.id,
      label: p.label,
      rpId: p.rpId,
      createdAt: p.createdAt,
      lastUsedAt: p.lastUsedAt,
      linkBy: nullable(by.name),
    },
    sql`FROM ${viewer} JOIN ${passkeys} ${p} ON ${p.accountId} = ${viewer.id}
      LEFT JOIN ${accounts} ${by} ON ${by.id} = ${p.linkBy}
      ORDER BY ${p.createdAt} DESC, ${p.id} DESC`,
    viewerCte(v),
  ),
)

/** A passkey, as its account sees it. */
export type OwnPasskey = Pick<Passkey, 'id' | 'label' | 'rpId' | 'createdAt' | 'lastUsedAt'> & {
  /** Name of who created the sign-in link of the session that added it. */
  linkBy: string | null
}

/** Selects a passkey by the id that the device gave it. */
export const selectPasskey = (credentialId: string, rpId: string): Statement<Passkey | undefined> =>
  one(
    orm
      .select()
      .from(passkeys)
      .where(and(eq(passkeys.credentialId, credentialId), eq(passkeys.rpId, rpId))),
  )

/** Stores that a passkey was used; answers false when its counter did not grow meanwhile. */
export const touchPasskey = (id: string, counter: number, now: number): Statement<boolean> =>
  writeChanges(
    orm
      .update(passkeys)
      .set({ counter, lastUsedAt: now })
      .where(
        and(
          eq(passkeys.id, id),
          sql`(${passkeys.counter} < ${counter} OR (${counter} = 0 AND ${passkeys.counter} = 0))`,
        ),
      ),
  )

/** Deletes a passkey of an account, with the sessions it opened; answers whether the account had it. */
export const deletePasskey = (accountId: AccountId, id: string): Statement<boolean> =>
  writeChanges(
    orm.delete(passkeys).where(and(eq(passkeys.id, id), eq(passkeys.accountId, accountId))),
  )

/** Selects whether there are passkeys for a domain that the hub no longer has. */
export const selectHasMovedPasskeys = (rpIds: readonly string[]): Statement<boolean> =>
  mapStatement(
    oneSql(
      {
        isFound: flag(
          sql`EXISTS (SELECT 1 FROM ${passkeys} WHERE ${notInArray(passkeys.rpId, [...rpIds])})`,
        ),
      },
      sql``,
    ),
    (row) => row?.isFound === true,
  )
