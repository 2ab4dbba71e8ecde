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
    /** The key or session that created the sign-in link that it is. */
    askedBy: text('asked_by').references((): AnySQLiteColumn => apiKeys.id, {
      onDelete: 'cascade',
    }),
  },
  (table) => [
    index('api_keys_by_opener').on(table.openedBy).where(sql`${table.openedBy} IS NOT NULL`),
    index('api_keys_by_account').on(table.accountId),
    index('api_keys_by_creator').on(table.askedBy).where(sql`${table.askedBy} IS NOT NULL`),
    index('api_keys_by_passkey').on(table.passkeyId).where(sql`${table.passkeyId} IS NOT NULL`),
    index('api_keys_by_identity').on(table.identityId).where(sql`${table.identityId} IS NOT NULL`),
  ],
)

export type KeyKind = 'key' | 'session' | 'link' | 'service'

export type ApiKey = typeof apiKeys.$inferSelect

/** Never has a row: a write whose sender may not make it any more inserts the reason, which fails its batch. */
export const accessGuard = sqliteTable('access_guard', {
  name: text('name').notNull(),
})

/** Challenges and states that were given out and not answered yet. */
export const signInAttempts = sqliteTable(
  'sign_in_attempts',
  {
    /** SHA-256 of the challenge, or of the cookie of the browser that started. */
    id: text('id').primaryKey(),
    kind: text('kind', { enum: ['add_passkey', 'use_passkey', 'identity'] }).notNull(),
    /** The account that adds a passkey or links an identity; null to sign in. */
    accountId: text('account_id')
      .$type<AccountId>()
      .references(() => accounts.id),
    /** The session that started adding or linking; null to sign in. */
    begunBy: text('begun_by').references(() => apiKeys.id, { onDelete: 'cascade' }),
    data: text('data', { mode: 'json' }).$type<Record<string, string>>().notNull().default({}),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('sign_in_attempts_by_expiry').on(table.expiresAt),
    index('sign_in_attempts_by_beginner')
      .on(table.begunBy)
      .where(sql`${table.begunBy} IS NOT NULL`),
  ],
)

export type SignInAttempt = typeof signInAttempts.$inferSelect
