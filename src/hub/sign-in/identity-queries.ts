import { and, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { signInLimits } from '../../shared/config'
import { nullable } from '../../shared/db/fields'
import { manySql, one, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts, type Identity, identities } from '../schema/accounts'
import { guardLimit, prepareForViewer, viewer, viewerCte } from '../viewers/queries'
import { linkBySql } from './queries'

/** @param sessionId the session that links it */
export const insertIdentity = (
  identity: Omit<typeof identities.$inferInsert, 'linkBy'>,
  sessionId: string,
): Statement<void> =>
  write(orm.insert(identities).values({ ...identity, linkBy: linkBySql(sessionId) }))

/** Fails its batch when an account has as many identities as it can have. */
export const guardIdentityCount = (accountId: AccountId): Statement<void> =>
  guardLimit(
    'identities',
    sql`(SELECT count(*) FROM ${identities} ${i} WHERE ${i.accountId} = ${accountId})`,
    signInLimits.identitiesPerAccountMax,
  )

export const selectIdentity = (issuer: string, subject: string): Statement<Identity | undefined> =>
  one(
    orm
      .select()
      .from(identities)
      .where(and(eq(identities.issuer, issuer), eq(identities.subject, subject))),
  )

const i = alias(identities, 'i')
const by = alias(accounts, 'by')

/** Selects the identities that sign in the viewer's account, the last linked first. */
export const selectOwnIdentities = prepareForViewer((v) =>
  manySql(
    {
      id: i.id,
      issuer: i.issuer,
      label: i.label,
      createdAt: i.createdAt,
      lastUsedAt: i.lastUsedAt,
      linkBy: nullable(by.name),
    },
    sql`FROM ${viewer} JOIN ${identities} ${i} ON ${i.accountId} = ${viewer.id}
      LEFT JOIN ${accounts} ${by} ON ${by.id} = ${i.linkBy}
      ORDER BY ${i.createdAt} DESC, ${i.id} DESC`,
    viewerCte(v),
  ),
)

/** An identity, as its account sees it. */
export type OwnIdentity = Pick<Identity, 'id' | 'issuer' | 'label' | 'createdAt' | 'lastUsedAt'> & {
  /** Name of who created the sign-in link of the session that linked it. */
  linkBy: string | null
}

/** Stores that an identity signed in, and what it is called now. */
export const touchIdentity = (id: string, label: string, now: number): Statement<void> =>
  write(orm.update(identities).set({ label, lastUsedAt: now }).where(eq(identities.id, id)))

/** Deletes an identity, with the sessions it opened; answers whether the account had it. */
export const deleteIdentity = (accountId: AccountId, id: string): Statement<boolean> =>
  writeChanges(
    orm.delete(identities).where(and(eq(identities.id, id), eq(identities.accountId, accountId))),
  )
