import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId } from '../../shared/ids'
import { accounts } from './accounts'

/** Admins who opened what is private to a community or an account, and until when it holds. */
export const adminOpenings = sqliteTable(
  'admin_openings',
  {
    id: text('id').primaryKey(),
    /** The admin. */
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    /** The community or the account that it is private to. */
    ownerId: text('owner_id').$type<AccountId | CommunityId>().notNull(),
    reason: text('reason').notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('admin_openings_of').on(
      table.ownerId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
  ],
)
