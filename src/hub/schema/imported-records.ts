import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** What imports have made: the key of a record within its source, and the row of this hub that it became. */
export const importedRecords = sqliteTable(
  'imported_records',
  {
    /** The name that the import gave its source; '' when it gave none. */
    source: text('source').notNull(),
    kind: text('kind', { enum: ['author', 'post', 'comment'] }).notNull(),
    key: text('key').notNull(),
    id: text('id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.source, table.kind, table.key] })],
)

export type ImportedKind = (typeof importedRecords.$inferSelect)['kind']
