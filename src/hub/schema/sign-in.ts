import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'
import { accounts } from './accounts'

/** Passkeys: the public halves of keys that people's devices keep. */
export const passkeys = sqliteTable(
  'passkeys',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    /** The id that the device gave it, base64url. */
    credentialId: text('credential_id').notNull().unique(),
    /** A COSE key, base64url. */
    publicKey: text('public_key').notNull(),
    /** How often it signed, as the device counts; 0 for devices that do not count. */
    counter: integer('counter').notNull(),
    transports: text('transports', { mode: 'json' }).$type<string[]>().notNull().default([]),
    /** The domain it was made for, the only one where it works. */
    rpId: text('rp_id').notNull(),
    label: text('label').notNull(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
    /** Who created the sign-in link of the session that added it; null for another session. */
    linkBy: text('link_by').$type<AccountId>(),
  },
  (table) => [index('passkeys_by_account').on(table.accountId)],
)

export type Passkey = typeof passkeys.$inferSelect

/** Accounts at other services that sign in an account of this hub. */
export const identities = sqliteTable(
  'identities',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    issuer: text('issuer').notNull(),
    /** The id of the account at the issuer, which never changes. */
    subject: text('subject').notNull(),
    /** What people call that account: a login or an email address. */
    label: text('label').notNull(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
    /** As of a passkey. */
    linkBy: text('link_by').$type<AccountId>(),
  },
  (table) => [
    uniqueIndex('identities_by_subject').on(table.issuer, table.subject),
    index('identities_by_account').on(table.accountId),
  ],
)

export type Identity = typeof identities.$inferSelect
