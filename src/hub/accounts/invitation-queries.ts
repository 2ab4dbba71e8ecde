import { and, desc, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { peopleLimits } from '../../shared/config'
import type { Keyset } from '../../shared/cursor'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  many,
  mapStatement,
  oneSql,
  orm,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { toSearchColumns } from '../../shared/search-text'
import { insertAdminEntryIf } from '../database/admin-log-queries'
import { optionalPersonSql, personSql } from '../rules/people-sql'
import { accounts, apiKeys, invitations } from '../schema/accounts'
import { adminLog } from '../schema/audit'
import { isAccountDisabledSql, isRestrictedSql } from '../viewers/ban-sql'
import { guardLimit, rankSql } from '../viewers/queries'

const i = alias(invitations, 'i')
const by = alias(accounts, 'by')
const who = alias(accounts, 'who')

export const insertInvitation = (invitation: typeof invitations.$inferInsert): Statement<void> =>
  write(orm.insert(invitations).values(invitation))

/** Fails its batch when an account has as many invitations that can still be used as it can have. */
export const guardOpenCount = (createdBy: AccountId, now: number): Statement<void> =>
  guardLimit(
    'invitations',
    sql`(SELECT count(*) FROM ${invitations} ${i} WHERE ${i.createdBy} = ${createdBy} AND ${i.usedAt} IS NULL
      AND ${i.revokedAt} IS NULL AND ${i.expiresAt} > ${now})`,
    peopleLimits.openInvitationsMax,
  )

/**
 * Withdraws an invitation that was not used; answers whether there was one.
 *
 * @param createdBy null: of anybody
 */
export function revokeInvitation(
  { id, createdBy }: { id: string; createdBy: AccountId | null },
  entry: typeof adminLog.$inferInsert,
): { entry: Statement<void>; isRevoked: Statement<boolean> } {
  const own = createdBy === null ? sql`1` : eq(invitations.createdBy, createdBy)
  const isOpen = sql`${eq(invitations.id, id)} AND ${invitations.usedAt} IS NULL
    AND ${invitations.revokedAt} IS NULL AND ${own}`
  return {
    entry: insertAdminEntryIf(entry, sql`EXISTS (SELECT 1 FROM ${invitations} WHERE ${isOpen})`),
    isRevoked: writeChanges(
      orm.update(invitations).set({ revokedAt: entry.createdAt }).where(isOpen),
    ),
  }
}

const listFields = {
  id: i.id,
  role: i.role,
  note: i.note,
  createdAt: i.createdAt,
  expiresAt: i.expiresAt,
  revokedAt: i.revokedAt,
  usedAt: i.usedAt,
  createdBy: personSql(by),
  usedBy: optionalPersonSql(who),
}

export type InvitationRow = RowOf<typeof listFields>

/** Selects invitations, newest first. @param createdBy null: of everybody */
export const selectInvitations = ({
  createdBy,
  before,
  limit,
}: {
  createdBy: AccountId | null
  before: Keyset | null
  limit: number
}): Statement<InvitationRow[]> =>
  many(
    orm
      .select(listFields)
      .from(i)
      .innerJoin(by, eq(by.id, i.createdBy))
      .leftJoin(who, eq(who.id, i.usedBy))
      .where(
        and(
          createdBy === null ? undefined : eq(i.createdBy, createdBy),
          before === null
            ? undefined
            : sql`(${i.createdAt}, ${i.id}) < (${before[0]}, ${before[1]})`,
        ),
      )
      .orderBy(desc(i.createdAt), desc(i.id))
      .limit(limit),
  )

/** Selects whether an account is banned or muted anywhere. */
export const selectIsRestricted = (id: AccountId, now: number): Statement<boolean> =>
  mapStatement(
    oneSql(
      { isRestricted: flag(isRestrictedSql(by, now)) },
      sql`FROM ${accounts} ${by} WHERE ${by.id} = ${id}`,
    ),
    (row) => row?.isRestricted ?? false,
  )

/** What decides whether an invitation can be used. */
interface Use {
  now: number | SQLWrapper
  /** Whether members can invite people. */
  membersInvite: boolean | SQLWrapper
}

/**
 * Whether the invitation can be used: its inviter could still create it, which nobody can who is disabled, or
 * anywhere banned or muted, because the account that it makes would be free to write there.
 */
export const isUsableSql = (
  invitation: Record<keyof typeof invitations.$inferSelect, SQLWrapper>,
  { now, membersInvite }: Use,
): SQL => sql`(
  ${invitation.usedAt} IS NULL AND ${invitation.revokedAt} IS NULL AND ${invitation.expiresAt} > ${now}
  AND EXISTS (SELECT 1 FROM ${accounts} ${by} WHERE ${by.id} = ${invitation.createdBy}
    AND (${by.role} = 'admin' OR (${membersInvite} AND ${by.role} = 'member' AND ${by.kind} = 'human'))
    AND NOT ${isAccountDisabledSql(by)} AND NOT ${isRestrictedSql(by, now)} AND ${rankSql(by.role)} >= ${rankSql(invitation.role)}))`

/** Selects an invitation that can be used. */
export const selectUsableInvitation = (
  hash: string,
  use: Use,
): Statement<{ role: InvitationRow['role']; createdBy: string; expiresAt: number } | undefined> =>
  oneSql(
    { role: i.role, createdBy: who.name, expiresAt: i.expiresAt },
    sql`FROM ${invitations} ${i} JOIN ${accounts} ${who} ON ${who.id} = ${i.createdBy}
      WHERE ${i.hash} = ${hash} AND ${isUsableSql(i, use)}`,
  )

/** Selects what whoever has the link of a used invitation may know of it: not who used it. */
export const selectUsedInvitation = (
  hash: string,
): Statement<{ createdBy: string; usedAt: number } | undefined> =>
  oneSql(
    { createdBy: who.name, usedAt: sql<number>`${i.usedAt}` },
    sql`FROM ${invitations} ${i} JOIN ${accounts} ${who} ON ${who.id} = ${i.createdBy}
      WHERE ${i.hash} = ${hash} AND ${i.usedAt} IS NOT NULL`,
  )

interface Acceptance extends Use {
  now: number
  hash: string
  account: { id: AccountId; name: string; displayName: string | null }
  session: { id: string; hash: string; expiresAt: number }
  /** Of the admin log. */
  entryId: string
}

/**
 * Uses an invitation once, and creates the account and its browser session with it, and an entry of the
 * admin log. Of two at the same
 * time the first one uses it, and the other one writes nothing.
 */
export const acceptanceStatements = (acceptance: Acceptance) => {
  const { hash, account, session, entryId, now } = acceptance
  const used = sql`FROM ${invitations} WHERE ${invitations.usedBy} = ${account.id}`
  return {
    isAccepted: writeChanges(
      updateSet(
        invitations,
        { usedAt: now, usedBy: account.id },
        sql`WHERE ${invitations.hash} = ${hash} AND ${isUsableSql(invitations, acceptance)}`,
      ),
    ),
    account: write(
      insertSelect(
        accounts,
        {
          ...account,
          ...toSearchColumns({ displayName: account.displayName }),
          kind: 'human',
          role: invitations.role,
          createdAt: now,
        },
        used,
      ),
    ),
    session: write(
      insertSelect(
        apiKeys,
        { ...session, accountId: account.id, kind: 'session', createdAt: now },
        used,
      ),
    ),
    entry: write(
      insertSelect(
        adminLog,
        {
          id: entryId,
          accountId: account.id,
          action: 'account.join',
          targetType: 'account',
          targetId: account.id,
          after: sql`json_object('role', ${invitations.role}, 'invited_by', ${invitations.createdBy},
            'invitation', ${invitations.id})`,
          createdAt: now,
        },
        used,
      ),
    ),
  }
}
