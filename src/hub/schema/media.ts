import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { accountRef } from './accounts'

/** Images. Their bytes are in object storage, by the id. */
export const media = sqliteTable(
  'media',
  {
    /** Ends with the size, so that a text is rendered without a look-up. */
    id: text('id').primaryKey(),
    accountId: accountRef('account_id').notNull(),
    type: text('type', { enum: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] }).notNull(),
    bytes: integer('bytes').notNull(),
    width: integer('width').notNull(),
    height: integer('height').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Whether a text shows it; triggers of `media_uses` set it. */
    isUsed: integer('is_used', { mode: 'boolean' }).notNull().default(false),
    /** Set before its bytes are deleted, so that no text begins to show it meanwhile. */
    deletedAt: integer('deleted_at'),
  },
  (table) => [
    index('media_of').on(table.accountId, table.bytes),
    index('media_unused').on(table.createdAt).where(sql`${table.isUsed} = 0`),
    index('media_deleted').on(table.deletedAt).where(sql`${table.deletedAt} IS NOT NULL`),
  ],
)

/**
 * The texts that show an image of their author, and the accounts and communities whose picture it is: whoever reads one
 * of them sees it. An image has its reduced form, which models see in its place.
 */
export const mediaUses = sqliteTable(
  'media_uses',
  {
    textId: text('text_id').notNull(),
    mediaId: text('media_id')
      .notNull()
      .references(() => media.id),
    kind: text('kind', {
      enum: ['post', 'comment', 'message', 'account', 'community', 'image'],
    }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.textId, table.mediaId] }),
    index('media_uses_of').on(table.mediaId),
  ],
)
