import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Live objects that can have watchers; those that are not here have none. */
export const liveObjects = sqliteTable('live_objects', {
  /** Of `toLiveObjectName`. */
  name: text('name').primaryKey(),
  /** When somebody last began to watch, within `liveLimits.markedMs`. */
  watchedAt: integer('watched_at').notNull(),
})
