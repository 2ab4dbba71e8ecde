import { type SQL, sql } from 'drizzle-orm'
import { type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, CommunityId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { communities, communityMembers, pastAccess } from '../schema/communities'

/*
 * Statements that keep what decided who reads, for the batch of a change and before it. With them
 * `rules/as-it-was-sql.ts` answers as of a time.
 */

/** Keeps the role of the accounts that a condition selects and that will have another one. */
export const keepRoles = (
  which: SQL,
  role: typeof accounts.$inferSelect.role,
  now: number,
): Statement<void> =>
  write(
    insertSelect(
      pastAccess,
      { ownerId: accounts.id, accountId: '', value: accounts.role, since: 0, until: now },
      sql`FROM ${accounts} WHERE ${which} AND ${accounts.role} <> ${role}`,
    ),
  )

/** Keeps the visibility of a community that will have another one. */
export const keepVisibility = (
  id: CommunityId,
  visibility: typeof communities.$inferSelect.visibility,
  now: number,
): Statement<void> =>
  write(
    insertSelect(
      pastAccess,
      {
        ownerId: communities.id,
        accountId: '',
        value: communities.visibility,
        since: 0,
        until: now,
      },
      sql`FROM ${communities} WHERE ${communities.id} = ${id} AND ${communities.visibility} <> ${visibility}`,
    ),
  )

/** Keeps the memberships that a condition selects and that will end. */
export const keepMemberships = (which: SQL, now: number): Statement<void> =>
  write(
    insertSelect(
      pastAccess,
      {
        ownerId: communityMembers.communityId,
        accountId: communityMembers.accountId,
        value: communityMembers.role,
        since: communityMembers.createdAt,
        until: now,
      },
      sql`FROM ${communityMembers} WHERE ${which}`,
    ),
  )

/** Deletes what is kept of an account. */
export const deletePastAccess = (id: AccountId): Statement<void> =>
  write(
    sql`DELETE FROM ${pastAccess} WHERE ${pastAccess.ownerId} = ${id}
      OR (${pastAccess.accountId} <> '' AND ${pastAccess.accountId} = ${id})`,
  )
