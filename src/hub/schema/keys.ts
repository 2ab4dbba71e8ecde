import { sql } from 'drizzle-orm'
import { type AnySQLiteColumn, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'
import { accounts } from './accounts'
import { identities, passkeys } from './sign-in'

export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    hash: text('hash').notNull().unique(),
    kind: text('kind', { enum: ['key', 'session', 'link', 'service'] }).notNull(),
    label: text('label').notNull().default(''),
    scopes: text('scopes', { mode: 'json' })
      .$type<('read' | 'write')[]>()
      .notNull()
      .default(['read', 'write']),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
    lastUsedAt: integer('last_used_at'),
    openedBy: text('opened_by').references((): AnySQLiteColumn => apiKeys.id, {
      onDelete: 'cascade',
    }),
    passkeyId: text('passkey_id').references(() => passkeys.id, { onDelete: 'cascade' }),
    identityId: text('identity_id').references(() => identities.id, { onDelete: 'cascade' }),
    /** Hash of the ROOKERY_ADMIN_KEY that opened a session or created a link. */
    adminKeyHash: text('admin_key_hash'),
    /** Who created the sign-in link that it is, or that its session was opened with. */
    linkBy: text('link_by').$type<AccountId>(),
  },
  (table) => [
    index('api_keys_by_opener').on(table.openedBy).where(sql`${table.openedBy} IS NOT NULL`),
    index('api_keys_by_account').on(table.accountId),
    index('api_keys_by_passkey').on(table.passkeyId).where(sql`${table.passkeyId} IS NOT NULL`),
    index('api_keys_by_identity').on(table.identityId).where(sql`${table.identityId} IS NOT NULL`),
  ],
)

export type KeyKind = 'key' | 'session' | 'link' | 'service'

export type ApiKey = typeof apiKeys.$inferSelect
