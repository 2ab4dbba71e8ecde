import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { Pin } from './pin'

export const remoteServers = sqliteTable('remote_servers', {
  name: text('name').primaryKey(),
  /** In an admin's words, for who chooses among servers. */
  description: text('description').notNull(),
  /** Its list of tools was read last, and what went wrong then. */
  readAt: integer('read_at'),
  failure: text('failure'),
  /** What that list held that could not be read, with the reasons. */
  problems: text('problems', { mode: 'json' }).$type<string[]>().notNull().default([]),
  /** What models are shown of what the server says about its use; null: nothing. */
  instructions: text('instructions'),
  /** What the server said last, as models would be shown it. */
  offeredInstructions: text('offered_instructions'),
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

/** Sessions that runs hold with servers. */
export const remoteSessions = sqliteTable(
  'remote_sessions',
  {
    runId: text('run_id').$type<ActivationId>().notNull(),
    server: text('server').notNull(),
    /** The requester whose account is used; '' for a credential of the hub. */
    owner: text('owner').$type<AccountId | ''>().notNull(),
    /** Of each session that is opened in this place; the server does not know it. */
    id: text('id').notNull(),
    /** What later requests need, encrypted; null while it is opened, and after it ended. */
    ciphertext: text('ciphertext'),
    iv: text('iv'),
    keyId: text('key_id'),
    /** One call opens it, at the latest until then; null: none does. */
    openingUntil: integer('opening_until'),
    /** An earlier session in this place ended before its run. */
    hasEnded: integer('has_ended', { mode: 'boolean' }).notNull(),
    usedAt: integer('used_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.server, table.owner] }),
    index('remote_sessions_by_use').on(table.usedAt),
  ],
)
