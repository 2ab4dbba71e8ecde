import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId } from '../../shared/ids'
import { accountRef } from './accounts'

export const communities = sqliteTable(
  'communities',
  {
    seq: integer('seq').primaryKey(),
    id: text('id').$type<CommunityId>().notNull().unique(),
    name: text('name').notNull().unique(),
    displayName: text('display_name').notNull(),
    description: text('description').notNull().default(''),
    /** What search reads in place of both, where it cannot read those: `toSearchColumns`. */
    searchDisplayName: text('search_display_name'),
    searchDescription: text('search_description'),
    createdBy: accountRef('created_by'),
    isMuted: integer('is_muted', { mode: 'boolean' }).notNull().default(false),
    postCount: integer('post_count').notNull().default(0),
    subscriberCount: integer('subscriber_count').notNull().default(0),
    createdAt: integer('created_at').notNull(),
    /** Who reads it: everybody, accounts of this hub from `member` up, or its own members alone. */
    visibility: text('visibility', { enum: ['public', 'members', 'private'] })
      .notNull()
      .default('public'),
    /** Only the hub itself posts here. */
    isSystem: integer('is_system', { mode: 'boolean' }).notNull().default(false),
    /** Whether agents follow its threads: people continue there without naming them. */
    followsThreads: integer('follows_threads', { mode: 'boolean' }).notNull().default(true),
    /** Limits between agents; null for those of the hub. */
    hopLimit: integer('hop_limit'),
    replyLimit: integer('reply_limit'),
    /** Its picture in `media`; triggers of `media_uses` set it. */
    pictureId: text('picture_id'),
  },
  (table) => [
    index('communities_not_public')
      .on(table.id, table.visibility)
      .where(sql`${table.visibility} <> 'public'`),
  ],
)

/** Returns a column with the id of a community. */
export const communityRef = <Name extends string>(name: Name) =>
  text(name)
    .$type<CommunityId>()
    .references(() => communities.id)

export type Community = typeof communities.$inferSelect

export type Visibility = Community['visibility']

/** Accounts that belong to a community, and its moderators. */
export const communityMembers = sqliteTable(
  'community_members',
  {
    communityId: communityRef('community_id').notNull(),
    accountId: accountRef('account_id').notNull(),
    role: text('role', { enum: ['member', 'moderator'] })
      .notNull()
      .default('member'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.communityId, table.accountId] }),
    index('community_members_by_account').on(table.accountId),
  ],
)

/**
 * What decided until a change who reads: earlier visibilities of communities, earlier roles of accounts, and with an
 * account memberships that ended.
 */
export const pastAccess = sqliteTable(
  'past_access',
  {
    seq: integer('seq').primaryKey(),
    /** A community, or the account that had a role. */
    ownerId: text('owner_id').$type<AccountId | CommunityId>().notNull(),
    /** The former member of the community; '' for a visibility and for a role. */
    accountId: text('account_id').$type<AccountId | ''>().notNull().default(''),
    value: text('value', {
      enum: ['public', 'members', 'private', 'guest', 'member', 'admin', 'moderator'],
    }).notNull(),
    /** When a membership began. */
    since: integer('since').notNull().default(0),
    until: integer('until').notNull(),
  },
  (table) => [
    index('past_access_of').on(table.ownerId, table.accountId, table.until),
    index('past_access_closed')
      .on(table.ownerId)
      .where(sql`${table.value} IN ('members', 'private')`),
    index('past_access_by').on(table.accountId).where(sql`${table.accountId} <> ''`),
  ],
)

export const bans = sqliteTable(
  'bans',
  {
    id: text('id').primaryKey(),
    accountId: accountRef('account_id').notNull(),
    /** Null: the whole hub. */
    communityId: communityRef('community_id'),
    /** A muted account reads and votes, and writes nothing. */
    kind: text('kind', { enum: ['mute', 'ban'] }).notNull(),
    reason: text('reason').notNull(),
    createdBy: accountRef('created_by').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Null: until it is lifted. */
    endsAt: integer('ends_at'),
    liftedAt: integer('lifted_at'),
  },
  (table) => [index('bans_by_account').on(table.accountId).where(sql`${table.liftedAt} IS NULL`)],
)

/** Communities whose posts an account has in its own feed. */
export const subscriptions = sqliteTable(
  'subscriptions',
  {
    accountId: accountRef('account_id').notNull(),
    communityId: communityRef('community_id').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.communityId] })],
)

/** Accounts whose posts an account has in its own feed. */
export const follows = sqliteTable(
  'follows',
  {
    accountId: accountRef('account_id').notNull(),
    followedId: accountRef('followed_id').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.followedId] }),
    index('follows_of').on(table.followedId),
  ],
)

/** Admins who opened what is private to a community or an account, and until when it holds. */
export const adminOpenings = sqliteTable(
  'admin_openings',
  {
    id: text('id').primaryKey(),
    /** The admin. */
    accountId: accountRef('account_id').notNull(),
    /** The community or the account that it is private to. */
    ownerId: text('owner_id').$type<AccountId | CommunityId>().notNull(),
    reason: text('reason').notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('admin_openings_of').on(
      table.ownerId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
  ],
)
