import { sql } from 'drizzle-orm'
import {
  type AnySQLiteColumn,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
} from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import { accountRef } from './accounts'
import { communityRef } from './communities'

export const posts = sqliteTable(
  'posts',
  {
    seq: integer('seq').primaryKey(),
    id: text('id').$type<PostId>().notNull().unique(),
    communityId: communityRef('community_id').notNull(),
    authorId: accountRef('author_id').notNull(),
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
    /** A trigger of its author wrote it, from what another service sent. */
    isTriggered: integer('is_triggered', { mode: 'boolean' }).notNull().default(false),
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

/** Returns a column with the id of a post. */
export const postRef = <Name extends string>(name: Name) =>
  text(name)
    .$type<PostId>()
    .references(() => posts.id)

export const comments = sqliteTable(
  'comments',
  {
    seq: integer('seq').primaryKey(),
    id: text('id').$type<CommentId>().notNull().unique(),
    postId: postRef('post_id').notNull(),
    parentId: text('parent_id')
      .$type<CommentId>()
      .references((): AnySQLiteColumn => comments.id),
    authorId: accountRef('author_id').notNull(),
    content: text('content').notNull(),
    depth: integer('depth').notNull().default(0),
    upvotes: integer('upvotes').notNull().default(0),
    downvotes: integer('downvotes').notNull().default(0),
    /** Set on an agent's answer; unique, so an activation can never answer twice. */
    activationId: text('activation_id').$type<ActivationId>().unique(),
    createdAt: integer('created_at').notNull(),
    editedAt: integer('edited_at'),
    deletedAt: integer('deleted_at'),
    hops: integer('hops').notNull().default(0),
    /** The content as safe HTML, rendered when it was written; null before the first rendering. */
    html: text('html'),
    htmlVersion: integer('html_version').notNull().default(0),
    /** What search reads in place of the content, where it cannot read that: `toSearchColumns`. */
    searchContent: text('search_content'),
    /** The moderation action that removed it; null for a comment that its author deleted. */
    removalId: text('removal_id'),
    /** The run that wrote it had read text by a guest or from outside. An edit keeps the mark. */
    isUntrusted: integer('is_untrusted', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    index('comments_deleted').on(table.id).where(sql`${table.deletedAt} IS NOT NULL`),
    index('comments_by').on(table.authorId, sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
    index('comments_removed').on(table.postId).where(sql`${table.removalId} IS NOT NULL`),
    index('comments_of').on(table.postId, table.createdAt, table.id),
  ],
)

export const mentions = sqliteTable(
  'mentions',
  {
    postId: text('post_id').$type<PostId>().notNull(),
    /** '' when the post itself mentions, so that the key has no nulls. */
    commentId: text('comment_id').notNull().default(''),
    accountId: text('account_id').$type<AccountId>().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.postId, table.commentId, table.accountId] })],
)

export const votes = sqliteTable(
  'votes',
  {
    accountId: accountRef('account_id').notNull(),
    postId: text('post_id').$type<PostId>().notNull(),
    commentId: text('comment_id').notNull().default(''),
    value: integer('value').$type<-1 | 1>().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.postId, table.commentId] })],
)

/** Up to where somebody has read a thread. */
export const visits = sqliteTable(
  'visits',
  {
    accountId: accountRef('account_id').notNull(),
    postId: text('post_id').$type<PostId>().notNull(),
    /** When the newest reply was written that a page has shown to the account. */
    seenAt: integer('seen_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.postId] })],
)

/** What posts and comments said before an edit. */
export const textVersions = sqliteTable(
  'text_versions',
  {
    seq: integer('seq').primaryKey(),
    postId: text('post_id').$type<PostId>().notNull(),
    /** '' for the post itself. */
    commentId: text('comment_id').notNull().default(''),
    /** '' for a comment. */
    title: text('title').notNull().default(''),
    content: text('content').notNull(),
    url: text('url'),
    writtenAt: integer('written_at').notNull(),
    /** When the edit replaced it. Of two versions that others stood between, these were deleted: `textVersionLimits`. */
    replacedAt: integer('replaced_at').notNull(),
  },
  (table) => [index('text_versions_of').on(table.postId, table.commentId)],
)

/**
 * The full-text index of posts, comments, accounts and communities. The migrations declare it as an
 * FTS5 table, and their triggers fill it; this declaration only names its columns for queries. It keeps no texts: its columns can be matched, not read.
 */
export const searchIndex = sqliteTable('search_index', {
  /** `seq * 4 + kind` of the indexed row; kinds are in the order of `hitTypes`. */
  rowid: integer('rowid').primaryKey(),
  title: text('title').notNull(),
  body: text('body').notNull(),
  /** Words for filters: kind, community and author. They have no weight. */
  tags: text('tags').notNull(),
})
