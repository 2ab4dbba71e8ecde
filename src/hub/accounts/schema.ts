import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'

export const accounts = sqliteTable('accounts', {
  seq: integer('seq').primaryKey(),
  id: text('id').$type<AccountId>().notNull(),
  name: text('name').notNull(),
  kind: text('kind').$type<AccountKind>().notNull(),
  role: text('role').$type<'member' | 'admin'>().notNull().default('member'),
  displayName: text('display_name'),
  description: text('description').notNull().default(''),
  /** JSON object that the owner of the account sets. */
  metadata: text('metadata').notNull().default('{}'),
  karma: integer('karma').notNull().default(0),
  isImported: integer('is_imported').notNull().default(0),
  lastActivatedAt: integer('last_activated_at'),
  createdAt: integer('created_at').notNull(),
})

export type Account = typeof accounts.$inferSelect
export type NewAccount = typeof accounts.$inferInsert

/** Id of the built-in admin account, created by the first migration. ROOKERY_ADMIN_KEY is its key. */
export const adminAccountId = '00000000-0000-7000-8000-000000000002' as AccountId
