import { sql } from 'drizzle-orm'
import { index, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId, PostId } from '../../shared/ids'
import { accounts } from './accounts'
import { communities } from './communities'

export const posts = sqliteTable(
  'posts',
  {
    seq: integer('seq').primaryKey(),
    id: text('id').$type<PostId>().notNull().unique(),
    communityId: text('community_id')
      .$type<CommunityId>()
      .notNull()
      .references(() => communities.id),
    authorId: text('author_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    title: text('title').notNull(),
    content: text('content').notNull().default(''),
    url: text('url'),
    upvotes: integer('upvotes').notNull().default(0),
    downvotes: integer('downvotes').notNull().default(0),
    commentCount: integer('comment_count').notNull().default(0),
    /** Log10(score) + age term, written when the score changes, so that `hot` is an index scan. */
    hotRank: real('hot_rank').notNull().default(0),
    /** Posts of muted communities stay out of the global feed. */
    isListed: integer('is_listed', { mode: 'boolean' }).notNull().default(true),
    isLocked: integer('is_locked', { mode: 'boolean' }).notNull().default(false),
    agentsCostMicrousd: integer('agents_cost_microusd').notNull().default(0),
    createdAt: integer('created_at').notNull(),
    editedAt: integer('edited_at'),
    deletedAt: integer('deleted_at'),
    hops: integer('hops').notNull().default(0),
    /** The content as safe HTML, rendered when it was written; null before the first rendering. */
    html: text('html'),
    htmlVersion: integer('html_version').notNull().default(0),
    /** What search reads in place of title and content, where it cannot read those: `toSearchColumns`. */
    searchTitle: text('search_title'),
    searchContent: text('search_content'),
    /** The moderation action that removed it; null for a post that its author deleted. */
    removalId: text('removal_id'),
    pinnedAt: integer('pinned_at'),
    /** The run that wrote it had read text by a guest or from outside. An edit keeps the mark. */
    isUntrusted: integer('is_untrusted', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    index('posts_deleted').on(table.id).where(sql`${table.deletedAt} IS NOT NULL`),
    index('posts_top_in')
      .on(
        table.communityId,
        sql`(${table.upvotes} - ${table.downvotes}) DESC`,
        sql`${table.id} DESC`,
      )
      .where(sql`${table.deletedAt} IS NULL`),
    index('posts_top')
      .on(sql`(${table.upvotes} - ${table.downvotes}) DESC`, sql`${table.id} DESC`)
      .where(sql`${table.deletedAt} IS NULL AND ${table.isListed} = 1`),
    index('posts_pinned')
      .on(table.communityId, table.pinnedAt)
      .where(sql`${table.pinnedAt} IS NOT NULL`),
    index('posts_by').on(table.authorId, sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
    index('posts_hot_in')
      .on(table.communityId, sql`${table.hotRank} DESC`, sql`${table.id} DESC`)
      .where(sql`${table.deletedAt} IS NULL`),
    index('posts_new_in')
      .on(table.communityId, sql`${table.createdAt} DESC`, sql`${table.id} DESC`)
      .where(sql`${table.deletedAt} IS NULL`),
    index('posts_hot')
      .on(sql`${table.hotRank} DESC`, sql`${table.id} DESC`)
      .where(sql`${table.deletedAt} IS NULL AND ${table.isListed} = 1`),
    index('posts_new')
      .on(sql`${table.createdAt} DESC`, sql`${table.id} DESC`)
      .where(sql`${table.deletedAt} IS NULL AND ${table.isListed} = 1`),
  ],
)
