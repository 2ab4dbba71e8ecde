import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Pin } from './pin'

export const remoteServers = sqliteTable('remote_servers', {
  name: text('name').primaryKey(),
  /** In an admin's words, for who chooses among servers. */
  description: text('description').notNull(),
  /** Its list of tools was read last, and what went wrong then. */
  readAt: integer('read_at'),
  failure: text('failure'),
  /** The client id that an admin registered for the hub, for people who connect their accounts. */
  oauthClientId: text('oauth_client_id'),
  updatedAt: integer('updated_at').notNull(),
  updatedBy: text('updated_by').notNull(),
})

export const remoteTools = sqliteTable(
  'remote_tools',
  {
    server: text('server')
      .notNull()
      .references(() => remoteServers.name, { onDelete: 'cascade' }),
    /** As its server calls it. */
    name: text('name').notNull(),
    /** Without the server, as it is called here. */
    wireName: text('wire_name').notNull(),
    /** The description that an admin accepted, and its hash. */
    pinned: text('pinned', { mode: 'json' }).$type<Pin>().notNull(),
    pinnedHash: text('pinned_hash').notNull(),
    /** What its server says now, when that is something else; hash '' when it is gone. */
    offered: text('offered', { mode: 'json' }).$type<Pin>(),
    offeredHash: text('offered_hash'),
    /** Null: it is hidden until an admin says what it needs. */
    grant: text('grant'),
    tier: text('tier', { enum: ['read', 'write', 'destructive'] }),
    updatedAt: integer('updated_at').notNull(),
    updatedBy: text('updated_by').notNull(),
  },
  (table) => [primaryKey({ columns: [table.server, table.name] })],
)

export const toolsVersion = sqliteTable('tools_version', {
  id: integer('id').primaryKey(),
  version: integer('version').notNull(),
})
