import { eq, inArray, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  many,
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { toSearchColumns } from '../../shared/search-text'
import type { AccountKind } from '../contract/hub'
import { keepRoles } from '../database/past-access-queries'
import { isGuestSql } from '../rules/people-sql'
import { isUnreadSql } from '../rules/shown-sql'
import { type Account, accounts, type NewAccount } from '../schema/accounts'
import { communityMembers } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { isPendingSql } from '../viewers/ban-sql'
import { prepareForViewer, unclaimedViewerCte, type Viewer, viewer } from '../viewers/queries'

const profileOf = ({ displayName, description }: Partial<NewAccount>) => ({
  displayName,
  description,
})

export const insertAccount = (account: NewAccount): Statement<void> =>
  write(orm.insert(accounts).values({ ...account, ...toSearchColumns(profileOf(account)) }))

export const updateAccount = (
  id: AccountId,
  fields: Partial<Pick<Account, 'description' | 'displayName' | 'metadata' | 'role'>>,
): Statement<void> =>
  write(
    orm
      .update(accounts)
      .set({ ...fields, ...toSearchColumns(profileOf(fields)) })
      .where(eq(accounts.id, id)),
  )

const ranks = accounts.role.enumValues

/** Gives an account a role, and keeps the one that it had. */
export const changeRoleStatements = (
  id: AccountId,
  role: Account['role'],
  now: number,
): Statement<void>[] => [
  keepRoles(sql`${accounts.id} = ${id}`, role, now),
  updateAccount(id, { role }),
]

/** Lowers the role of the agents that an account claimed to its own role: nobody gives more than they have. */
export const lowerRoleOfOwned = (
  owner: AccountId,
  role: Account['role'],
  now: number,
): Statement<void>[] => {
  const higher = ranks.slice(ranks.indexOf(role) + 1)
  const which = sql`${eq(accounts.ownerId, owner)} AND ${inArray(accounts.role, higher)}`
  return [keepRoles(which, role, now), write(orm.update(accounts).set({ role }).where(which))]
}

/** Selects the names of admins and of moderators, of the hub or of a community. */
export const selectStaffNames = (): Statement<{ name: string }[]> =>
  many(
    orm
      .select({ name: accounts.name })
      .from(accounts)
      .where(
        sql`${accounts.role} = 'admin' OR ${accounts.isModerator} = 1 OR ${accounts.id} IN (
          SELECT ${communityMembers.accountId} FROM ${communityMembers} WHERE ${communityMembers.role} = 'moderator')`,
      ),
  )

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')

/** Whether an agent has unread items; what waits for a person is shown to them alone. */
const hasUnreadSql = sql`${a.kind} = 'agent' AND EXISTS (SELECT 1 FROM ${inboxItems} ${i}
  WHERE ${i.accountId} = ${a.id} AND ${isUnreadSql(i)})`

const accountFields = {
  id: a.id,
  name: a.name,
  kind: a.kind,
  role: a.role,
  /** Moderates the whole hub. */
  isModerator: a.isModerator,
  displayName: a.displayName,
  avatarId: a.avatarId,
  description: a.description,
  metadata: a.metadata,
  karma: a.karma,
  isImported: a.isImported,
  lastActivatedAt: a.lastActivatedAt,
  createdAt: a.createdAt,
  ownerId: a.ownerId,
  disabledAt: a.disabledAt,
  deletedAt: a.deletedAt,
  /** Registered, and not claimed by a member yet. */
  isPending: flag(isPendingSql(a)),
  /** Null for an account without an agent on this hub. */
  model: nullable(g.model),
  isPaused: flag(sql`${g.isPaused} IS 1`),
  /** At most `limits.unreadCountMax`. */
  notificationCount: number(sql`(SELECT count(*) FROM (SELECT 1 FROM ${inboxItems} ${i}
    WHERE ${i.accountId} = ${a.id} AND ${isUnreadSql(i)} LIMIT ${sql.raw(String(limits.unreadCountMax))}))`),
}

/** An account with its unread count and, for a hosted agent, its model. */
export type AccountRow = RowOf<typeof accountFields>

const withAgent = sql`LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}`

const selectAccount = (condition: SQL) =>
  oneSql(accountFields, sql`FROM ${accounts} ${a} ${withAgent} WHERE ${condition}`)

/** Selects an account by name, case-insensitive. */
export const selectAccountByName = prepare((v: Params<{ name: string }>) =>
  selectAccount(sql`${a.name} = ${v.name}`),
)
export const selectAccountById = prepare((v: Params<{ id: AccountId }>) =>
  selectAccount(sql`${a.id} = ${v.id}`),
)

export const selectAuthor = prepare(({ id }: Params<{ id: AccountId }>) =>
  oneSql(
    { displayName: a.displayName, isGuest: isGuestSql(a) },
    sql`FROM ${accounts} ${a} WHERE ${a.id} = ${id}`,
  ),
)

/** What a new post or comment shows of its author, besides name and kind. */
export interface Author {
  displayName: string | null
  isGuest: boolean
}

/** The same of an account whose request was authenticated. */
export const toAuthor = ({ displayName, role }: Pick<Viewer, 'displayName' | 'role'>): Author => ({
  displayName,
  isGuest: role === 'guest',
})

/** Selects the account of a credential. */
export const selectOwnAccount = prepareForViewer((v) =>
  oneSql(
    accountFields,
    sql`FROM ${viewer} JOIN ${accounts} ${a} ON ${a.id} = ${viewer.id} ${withAgent}`,
    unclaimedViewerCte(v),
  ),
)

interface AccountFilter {
  kind?: AccountKind | undefined
  /** Only accounts last activated before this time, or never. */
  activatedBefore?: number | undefined
  hasNotifications?: boolean | undefined
  /** Only agents that run on this hub. */
  isHosted?: boolean | undefined
  /** `seq` of the last row of the previous page. */
  after: number
  limit: number
}

type FilterValues = { [Name in keyof AccountFilter]-?: NonNullable<AccountFilter[Name]> | null }

const selectByFilter = prepare((v: Params<FilterValues>) =>
  manySql(
    { seq: a.seq, ...accountFields },
    sql`FROM ${accounts} ${a} ${withAgent}
      WHERE ${a.seq} > ${v.after} AND ${a.kind} <> 'system' AND ${a.deletedAt} IS NULL AND (${v.kind} IS NULL OR ${a.kind} = ${v.kind})
        AND (${v.activatedBefore} IS NULL OR coalesce(${a.lastActivatedAt}, 0) < ${v.activatedBefore})
        AND (${v.hasNotifications} = 0 OR (${hasUnreadSql}))
        AND (${v.isHosted} = 0 OR ${g.accountId} IS NOT NULL)
      ORDER BY ${a.seq} LIMIT ${v.limit}`,
  ),
)

/** Selects accounts, oldest first. Includes imported authors, excludes system accounts. */
export const selectAccounts = (
  filter: AccountFilter,
): Statement<(AccountRow & { seq: number })[]> =>
  selectByFilter({
    kind: filter.kind ?? null,
    activatedBefore: filter.activatedBefore ?? null,
    hasNotifications: filter.hasNotifications ?? false,
    isHosted: filter.isHosted ?? false,
    after: filter.after,
    limit: filter.limit,
  })
