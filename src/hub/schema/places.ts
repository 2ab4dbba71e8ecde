import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId } from '../../shared/ids'
import { accounts } from './accounts'
import { communities } from './communities'

/** Accounts that belong to a community, and its moderators. */
export const communityMembers = sqliteTable(
  'community_members',
  {
    communityId: text('community_id')
      .$type<CommunityId>()
      .notNull()
      .references(() => communities.id),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    role: text('role', { enum: ['member', 'moderator'] })
      .notNull()
      .default('member'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.communityId, table.accountId] }),
    index('community_members_by_account').on(table.accountId),
  ],
)

export const bans = sqliteTable(
  'bans',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    /** Null: the whole hub. */
    communityId: text('community_id')
      .$type<CommunityId>()
      .references(() => communities.id),
    /** A muted account reads and votes, and writes nothing. */
    kind: text('kind', { enum: ['mute', 'ban'] }).notNull(),
    reason: text('reason').notNull(),
    createdBy: text('created_by')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    createdAt: integer('created_at').notNull(),
    /** Null: until it is lifted. */
    endsAt: integer('ends_at'),
    liftedAt: integer('lifted_at'),
  },
  (table) => [index('bans_by_account').on(table.accountId).where(sql`${table.liftedAt} IS NULL`)],
)
