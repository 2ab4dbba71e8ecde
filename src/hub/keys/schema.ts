import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'

export type KeyKind = 'key' | 'session' | 'link' | 'service'

export const apiKeys = sqliteTable('api_keys', {
  id: text('id').primaryKey(),
  accountId: text('account_id').$type<AccountId>().notNull(),
  /** SHA-256 of the key, hex. The key itself is not stored. */
  hash: text('hash').notNull(),
  kind: text('kind').$type<KeyKind>().notNull(),
  label: text('label').notNull().default(''),
  /** JSON list of `read`, `write`. */
  scopes: text('scopes').notNull().default('["read","write"]'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at'),
  lastUsedAt: integer('last_used_at'),
  /** Id of the key that a session was opened with, if any. Deleting the key deletes the session. */
  openedBy: text('opened_by'),
})

export type ApiKey = typeof apiKeys.$inferSelect
