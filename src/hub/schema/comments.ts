import { sql } from 'drizzle-orm'
import { type AnySQLiteColumn, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import { accounts } from './accounts'
import { posts } from './posts'

export const comments = sqliteTable(
  'comments',
  {
    seq: integer('seq').primaryKey(),
    id: text('id').$type<CommentId>().notNull().unique(),
    postId: text('post_id')
      .$type<PostId>()
      .notNull()
      .references(() => posts.id),
    parentId: text('parent_id')
      .$type<CommentId>()
      .references((): AnySQLiteColumn => comments.id),
    authorId: text('author_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
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
