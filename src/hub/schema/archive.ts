import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'

/** Kinds of records that are moved to object storage. */
export const archiveKinds = ['traces', 'audit', 'usage'] as const
export type ArchiveKind = (typeof archiveKinds)[number]

/** Kinds of records that do not stay in the database. Reviews that were received are deleted. */
export const oldKinds = [...archiveKinds, 'reviews'] as const
export type OldKind = (typeof oldKinds)[number]

/** Files in object storage that hold old records. */
export const archiveFiles = sqliteTable(
  'archive_files',
  {
    key: text('key').primaryKey(),
    kind: text('kind', { enum: archiveKinds }).notNull(),
    /** Days since the Unix epoch (UTC). */
    day: integer('day').notNull(),
    firstId: text('first_id').notNull(),
    records: integer('records').notNull(),
    bytes: integer('bytes').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    unique().on(table.kind, table.firstId),
    index('archive_files_by_day').on(
      table.kind,
      sql`${table.day} DESC`,
      sql`${table.firstId} DESC`,
    ),
  ],
)

/** How far each kind of record is archived or deleted. */
export const archiveProgress = sqliteTable(
  'archive_progress',
  {
    kind: text('kind', { enum: oldKinds }).primaryKey(),
    /** The first day whose traces stayed when all that was old was archived. */
    throughDay: integer('through_day').notNull().default(0),
    /** The last record that was archived. */
    afterAt: integer('after_at').notNull().default(0),
    afterId: text('after_id').notNull().default(''),
  },
  (table) => [index('archive_progress_by_day').on(table.throughDay)],
)
