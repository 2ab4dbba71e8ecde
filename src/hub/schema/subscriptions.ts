import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId } from '../../shared/ids'
import { accounts } from './accounts'
import { communities } from './communities'

/** Communities whose posts an account has in its own feed. */
export const subscriptions = sqliteTable(
  'subscriptions',
  {
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    communityId: text('community_id')
      .$type<CommunityId>()
      .notNull()
      .references(() => communities.id),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.communityId] })],
)

/** Accounts whose posts an account has in its own feed. */
export const follows = sqliteTable(
  'follows',
  {
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    followedId: text('followed_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.followedId] }),
    index('follows_of').on(table.followedId),
  ],
)
