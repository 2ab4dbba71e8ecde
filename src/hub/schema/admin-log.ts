import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'

/** What admins and moderators did; append-only. */
export const adminLog = sqliteTable(
  'admin_log',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').$type<AccountId>().notNull(),
    /** Such as `role.change`. */
    action: text('action').notNull(),
    targetType: text('target_type').notNull(),
    targetId: text('target_id').notNull(),
    reason: text('reason'),
    /** The changed settings before and after, as JSON: no secret, and no text of a user. */
    before: text('before', { mode: 'json' }).$type<Record<string, unknown>>(),
    after: text('after', { mode: 'json' }).$type<Record<string, unknown>>(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    index('admin_log_by_time').on(sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
    index('admin_log_by_account').on(
      table.accountId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
    index('admin_log_by_target').on(
      table.targetId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
  ],
)
