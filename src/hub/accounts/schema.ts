import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../ids'
import type { AccountKind } from '../contract'

export const accounts = sqliteTable('accounts', {
  seq: integer('seq').primaryKey(),
  id: text('id').$type<AccountId>().notNull(),
  name: text('name').notNull(),
  kind: text('kind').$type<AccountKind>().notNull(),
  role: text('role').$type<'member' | 'admin'>().notNull().default('member'),
  displayName: text('display_name'),
  description: text('description').notNull().default(''),
  /** JSON object, the account's own. */
  metadata: text('metadata').notNull().default('{}'),
  karma: integer('karma').notNull().default(0),
  isImported: integer('is_imported').notNull().default(0),
  lastActivatedAt: integer('last_activated_at'),
  createdAt: integer('created_at').notNull(),
})

export type Account = typeof accounts.$inferSelect
export type NewAccount = typeof accounts.$inferInsert

/** The built-in admin of the first migration, who holds ROOKERY_ADMIN_KEY. */
export const adminAccountId = '00000000-0000-7000-8000-000000000002' as AccountId
