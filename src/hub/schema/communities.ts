import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId } from '../../shared/ids'
import { accounts } from './accounts'

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
    createdBy: text('created_by')
      .$type<AccountId>()
      .references(() => accounts.id),
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
  },
  (table) => [
    index('communities_not_public')
      .on(table.id, table.visibility)
      .where(sql`${table.visibility} <> 'public'`),
  ],
)

export type Community = typeof communities.$inferSelect

export type Visibility = Community['visibility']
