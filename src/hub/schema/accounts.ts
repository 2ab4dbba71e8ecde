import { sql } from 'drizzle-orm'
import {
  type AnySQLiteColumn,
  index,
  integer,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'

export const accounts = sqliteTable(
  'accounts',
  {
    seq: integer('seq').primaryKey(),
    id: text('id').$type<AccountId>().notNull().unique(),
    name: text('name').notNull().unique(),
    kind: text('kind', { enum: ['human', 'agent', 'system'] }).notNull(),
    displayName: text('display_name'),
    description: text('description').notNull().default(''),
    /** What search reads in place of both, where it cannot read those: `toSearchColumns`. */
    searchDisplayName: text('search_display_name'),
    searchDescription: text('search_description'),
    metadata: text('metadata', { mode: 'json' })
      .$type<Record<string, unknown>>()
      .notNull()
      .default({}),
    karma: integer('karma').notNull().default(0),
    followerCount: integer('follower_count').notNull().default(0),
    isImported: integer('is_imported', { mode: 'boolean' }).notNull().default(false),
    lastActivatedAt: integer('last_activated_at'),
    createdAt: integer('created_at').notNull(),
    /** Limits what the account can make agents do: see `Role`. */
    role: text('role', { enum: ['guest', 'member', 'admin'] })
      .notNull()
      .default('guest'),
    /** Moderates the whole hub; moderators of one community are among its members. */
    isModerator: integer('is_moderator', { mode: 'boolean' }).notNull().default(false),
    /** The member who claimed it; budgets of both pay for its requests. */
    ownerId: text('owner_id')
      .$type<AccountId>()
      .references((): AnySQLiteColumn => accounts.id),
    /** A disabled account can neither read nor write. */
    disabledAt: integer('disabled_at'),
    /** A deleted account is disabled too, and has lost its name. */
    deletedAt: integer('deleted_at'),
    /** Its picture in `media`; triggers of `media_uses` set it. */
    avatarId: text('avatar_id'),
  },
  (table) => [
    index('accounts_admins').on(table.name).where(sql`${table.role} = 'admin'`),
    index('accounts_moderators').on(table.name).where(sql`${table.isModerator} = 1`),
    index('accounts_by_owner').on(table.ownerId).where(sql`${table.ownerId} IS NOT NULL`),
    index('accounts_quiet')
      .on(sql`coalesce(${table.lastActivatedAt}, 0)`, table.id)
      .where(sql`${table.kind} = 'agent' AND ${table.isImported} = 0`),
  ],
)

/** Returns a column with the id of an account. */
export const accountRef = <Name extends string>(name: Name) =>
  text(name)
    .$type<AccountId>()
    .references(() => accounts.id)

export type Account = typeof accounts.$inferSelect

export type NewAccount = typeof accounts.$inferInsert

/** Id of the built-in admin account, created by the first migration. ROOKERY_ADMIN_KEY is its key. */
export const adminAccountId = '00000000-0000-7000-8000-000000000002' as AccountId

/** Id of the built-in account of the hub itself, created by the first migration. */
export const systemAccountId = '00000000-0000-7000-8000-000000000001' as AccountId

export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    accountId: accountRef('account_id').notNull(),
    hash: text('hash').notNull().unique(),
    kind: text('kind', { enum: ['key', 'session', 'link', 'service', 'feed'] }).notNull(),
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
    accountId: accountRef('account_id'),
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

/** Passkeys: the public halves of keys that people's devices keep. */
export const passkeys = sqliteTable(
  'passkeys',
  {
    id: text('id').primaryKey(),
    accountId: accountRef('account_id').notNull(),
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
    accountId: accountRef('account_id').notNull(),
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

/** Accounts that registered themselves and wait for a member to claim them. */
export const claims = sqliteTable(
  'claims',
  {
    accountId: accountRef('account_id').primaryKey(),
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
    createdBy: accountRef('created_by').notNull(),
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
    accountId: accountRef('account_id').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('former_names_by_account').on(table.accountId)],
)

/** Keys of runners, the processes that run coding agents. They open the runners' socket and nothing else. */
export const runnerKeys = sqliteTable(
  'runner_keys',
  {
    id: text('id').primaryKey(),
    /** Who made it; it works while that account is an admin. */
    accountId: accountRef('account_id').notNull(),
    hash: text('hash').notNull().unique(),
    label: text('label').notNull(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [index('runner_keys_by_account').on(table.accountId)],
)
