import { sql } from 'drizzle-orm'
import { type AnySQLiteColumn, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
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

export type Account = typeof accounts.$inferSelect

export type NewAccount = typeof accounts.$inferInsert

/** Id of the built-in admin account, created by the first migration. ROOKERY_ADMIN_KEY is its key. */
export const adminAccountId = '00000000-0000-7000-8000-000000000002' as AccountId

/** Id of the built-in account of the hub itself, created by the first migration. */
export const systemAccountId = '00000000-0000-7000-8000-000000000001' as AccountId
