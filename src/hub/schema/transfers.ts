import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** The backup that is being written, or the restore that has not finished; at most one row. */
export const transfers = sqliteTable('transfers', {
  id: integer('id').primaryKey(),
  kind: text('kind').$type<'backup' | 'restore'>().notNull(),
  /** Id that its client sends with every request. */
  transfer: text('transfer').notNull(),
  /** By the clock of the database, which the guards read. */
  holdsUntil: integer('holds_until').notNull(),
  /** Set within a batch that may write during a hold. */
  isWriting: integer('is_writing', { mode: 'boolean' }).notNull().default(false),
  /** Of a restore: the statements that create the triggers it has dropped, as a JSON list. */
  triggers: text('triggers', { mode: 'json' }).$type<string[]>(),
})
