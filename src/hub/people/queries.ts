import { and, eq, inArray, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { many, manySql, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { ownedSql } from '../accounts/owned-sql'
import { insertAdminEntryIf } from '../admin-log/queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import type { adminLog } from '../schema/admin-log'
import { grantPolicies } from '../schema/grants'
import { inboxItems } from '../schema/inbox'
import { apiKeys } from '../schema/keys'
import { formerNames } from '../schema/people'
import { bans } from '../schema/places'

type Entry = typeof adminLog.$inferInsert

export const setDisabled = (id: AccountId, disabledAt: number | null): Statement<void> =>
  write(orm.update(accounts).set({ disabledAt }).where(eq(accounts.id, id)))

export const setOwner = (id: AccountId, ownerId: AccountId): Statement<void> =>
  write(orm.update(accounts).set({ ownerId }).where(eq(accounts.id, id)))

export const setName = (id: AccountId, name: string): Statement<void> =>
  write(orm.update(accounts).set({ name }).where(eq(accounts.id, id)))

/** Keeps the name that an account had, and ends redirects from the one that it gets. */
export const recordFormerName = (
  former: { name: string; accountId: AccountId; createdAt: number },
  name: string,
): Statement<void>[] => [
  write(orm.delete(formerNames).where(eq(formerNames.name, name))),
  write(
    orm
      .insert(formerNames)
      .values(former)
      .onConflictDoUpdate({
        target: formerNames.name,
        set: { accountId: former.accountId, createdAt: former.createdAt },
      }),
  ),
]

/** Ends the browser sessions and sign-in links of an account. */
export const deleteSessions = (accountId: AccountId): Statement<void> =>
  write(
    orm
      .delete(apiKeys)
      .where(and(eq(apiKeys.accountId, accountId), inArray(apiKeys.kind, ['session', 'link']))),
  )

/** The same of the accounts that an account claimed. */
export const deleteSessionsOfOwned = (owner: AccountId): Statement<void> =>
  write(
    orm
      .delete(apiKeys)
      .where(
        and(
          sql`${apiKeys.accountId} IN ${ownedSql(owner)}`,
          inArray(apiKeys.kind, ['session', 'link']),
        ),
      ),
  )

/**
 * Notifies an account of a sign-in link, when the statement before it in the batch changed a row: the entry
 * of the admin log.
 */
export const insertLinkNotice = (notice: {
  id: InboxItemId
  accountId: AccountId
  by: { id: AccountId; name: string }
  now: number
}): Statement<void> =>
  write(
    insertSelect(
      inboxItems,
      {
        id: notice.id,
        accountId: notice.accountId,
        type: 'system',
        createdAt: notice.now,
        fromAccountId: notice.by.id,
        content: `@${notice.by.name} created a sign-in link for you. Whoever opens it is signed in as you. If you did not ask for it, see Settings, Sign-in.`,
      },
      sql`WHERE changes() > 0`,
    ),
  )

/** Deletes a key with the sessions opened with it, or one session; answers whether there was one. */
export function revokeKey(
  accountId: AccountId,
  keyId: string,
  entry: Entry,
): { entry: Statement<void>; isRevoked: Statement<boolean> } {
  const own = sql`${apiKeys.id} = ${keyId} AND ${apiKeys.accountId} = ${accountId}`
  return {
    entry: insertAdminEntryIf(entry, sql`EXISTS (SELECT 1 FROM ${apiKeys} WHERE ${own})`),
    isRevoked: writeChanges(orm.delete(apiKeys).where(own)),
  }
}

export const insertBan = (ban: typeof bans.$inferInsert): Statement<void> =>
  write(orm.insert(bans).values(ban))

/** Lifts a ban or a mute of an account on the whole hub; answers whether there was one. */
export function liftBan(
  accountId: AccountId,
  id: string,
  entry: Entry,
): { entry: Statement<void>; isLifted: Statement<boolean> } {
  const open = sql`${bans.id} = ${id} AND ${bans.accountId} = ${accountId}
    AND ${bans.communityId} IS NULL AND ${bans.liftedAt} IS NULL`
  return {
    entry: insertAdminEntryIf(entry, sql`EXISTS (SELECT 1 FROM ${bans} WHERE ${open})`),
    isLifted: writeChanges(orm.update(bans).set({ liftedAt: entry.createdAt }).where(open)),
  }
}

const x = alias(activations, 'x')
const runFields = { id: x.id, agentId: x.agentId }
export type OpenRun = RowOf<typeof runFields>

/**
 * Selects the runs that have not ended and act for nobody but an account and those that it claimed, and the
 * runs of those.
 */
export const selectRunsFor = (requester: AccountId): Statement<OpenRun[]> =>
  manySql(
    runFields,
    sql`FROM ${activations} ${x} WHERE ${x.state} IN ('running', 'parked')
      AND (${x.agentId} IN ${ownedSql(requester)} OR (${x.requesters} <> '[]'
        AND NOT EXISTS (SELECT 1 FROM json_each(${x.requesters}) n
          WHERE n.value <> ${requester} AND n.value NOT IN ${ownedSql(requester)})))`,
  )

/** Selects every policy with its lines. */
export const selectPolicyLines = (): Statement<{ accountId: string; allowed: string[] }[]> =>
  many(
    orm
      .select({ accountId: grantPolicies.accountId, allowed: grantPolicies.allowed })
      .from(grantPolicies),
  )

/** Replaces the lines of a policy, unless somebody changed them meanwhile. */
export const updatePolicyLines = (
  accountId: string,
  before: string[],
  after: string[],
): Statement<void> =>
  write(
    updateSet(
      grantPolicies,
      { allowed: sql`${JSON.stringify(after)}` },
      sql`WHERE ${grantPolicies.accountId} = ${accountId}
        AND ${grantPolicies.allowed} = ${JSON.stringify(before)}`,
    ),
  )
