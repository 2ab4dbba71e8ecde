import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'
import { accounts } from './accounts'

/** Accounts that registered themselves and wait for a member to claim them. */
export const claims = sqliteTable(
  'claims',
  {
    accountId: text('account_id')
      .$type<AccountId>()
      .primaryKey()
      .references(() => accounts.id),
    /** SHA-256 of the token in the link, hex. */
    hash: text('hash').notNull().unique(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [index('claims_by_expiry').on(table.expiresAt)],
)

export const invitations = sqliteTable(
  'invitations',
  {
    id: text('id').primaryKey(),
    /** SHA-256 of the token in the link, hex. */
    hash: text('hash').notNull().unique(),
    role: text('role', { enum: ['guest', 'member', 'admin'] }).notNull(),
    /** For whom it is, as the inviter wrote it. */
    note: text('note').notNull().default(''),
    createdBy: text('created_by')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    revokedAt: integer('revoked_at'),
    usedAt: integer('used_at'),
    /** The account that was created with it. */
    usedBy: text('used_by').$type<AccountId>(),
  },
  (table) => [
    index('invitations_new').on(sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
    index('invitations_open')
      .on(table.createdBy)
      .where(sql`${table.usedAt} IS NULL AND ${table.revokedAt} IS NULL`),
    uniqueIndex('invitations_used').on(table.usedBy).where(sql`${table.usedBy} IS NOT NULL`),
  ],
)

/** Names that accounts had before. */
export const formerNames = sqliteTable(
  'former_names',
  {
    name: text('name').primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('former_names_by_account').on(table.accountId)],
)
