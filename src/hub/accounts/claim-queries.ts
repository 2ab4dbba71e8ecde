import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { oneSql, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import type { Role } from '../contract/hub'
import { keepRoles } from '../database/past-access-queries'
import { tombstone } from '../rules/people-sql'
import { accounts, apiKeys, claims } from '../schema/accounts'
import { adminLog } from '../schema/audit'

export const insertClaim = (claim: typeof claims.$inferInsert): Statement<void> =>
  write(orm.insert(claims).values(claim))

/** Deletes the claim of an account, which makes its key work. */
export const deleteClaim = (accountId: AccountId): Statement<void> =>
  write(orm.delete(claims).where(eq(claims.accountId, accountId)))

/** Deletes accounts that nobody claimed in time, so that their names can be registered again. */
export function expireClaims(now: number): Statement<void>[] {
  const expired = sql`(SELECT ${claims.accountId} FROM ${claims} WHERE ${claims.expiresAt} <= ${now})`
  return [
    write(orm.delete(apiKeys).where(sql`${apiKeys.accountId} IN ${expired}`)),
    write(updateSet(accounts, tombstone(now), sql`WHERE ${accounts.id} IN ${expired}`)),
    write(orm.delete(claims).where(sql`${claims.expiresAt} <= ${now}`)),
  ]
}

const a = alias(accounts, 'a')
const c = alias(claims, 'c')

const claimFields = {
  accountId: a.id,
  name: a.name,
  kind: a.kind,
  description: a.description,
  expiresAt: c.expiresAt,
}

/** An account that waits for a member to claim it. */
export type Claim = RowOf<typeof claimFields>

export const selectClaim = (hash: string, now: number): Statement<Claim | undefined> =>
  oneSql(
    claimFields,
    sql`FROM ${claims} ${c} JOIN ${accounts} ${a} ON ${a.id} = ${c.accountId}
      WHERE ${c.hash} = ${hash} AND ${c.expiresAt} > ${now}`,
  )

interface Claiming {
  hash: string
  claimer: AccountId
  role: Role
  entryId: string
  now: number
}

const by = alias(accounts, 'by')

/**
 * Makes `claimer` the owner of the account of a claim, and records it. Only the first one succeeds, and nobody whose
 * account was claimed itself.
 */
export function claimStatements({ hash, claimer, role, entryId, now }: Claiming): {
  entry: Statement<void>
  role: Statement<void>
  isClaimed: Statement<boolean>
  claim: Statement<void>
} {
  const isOpen: SQL = sql`${claims.hash} = ${hash} AND ${claims.expiresAt} > ${now}
    AND EXISTS (SELECT 1 FROM ${accounts} ${by} WHERE ${by.id} = ${claimer} AND ${by.ownerId} IS NULL)`
  const claimed = sql`(SELECT ${claims.accountId} FROM ${claims} WHERE ${isOpen})`
  return {
    entry: write(
      insertSelect(
        adminLog,
        {
          id: entryId,
          accountId: claimer,
          action: 'account.claim',
          targetType: 'account',
          targetId: claims.accountId,
          after: sql`${JSON.stringify({ role })}`,
          createdAt: now,
        },
        sql`FROM ${claims} WHERE ${isOpen}`,
      ),
    ),
    role: keepRoles(sql`${accounts.id} = ${claimed}`, role, now),
    isClaimed: writeChanges(
      updateSet(accounts, { ownerId: claimer, role }, sql`WHERE ${accounts.id} = ${claimed}`),
    ),
    claim: write(orm.delete(claims).where(isOpen)),
  }
}
