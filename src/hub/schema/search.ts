import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

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
