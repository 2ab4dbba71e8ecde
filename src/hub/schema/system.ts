import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { accountRef } from './accounts'

export const settings = sqliteTable('settings', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
  updatedAt: integer('updated_at').notNull(),
})

export const agentCounters = sqliteTable('agent_counters', {
  accountId: accountRef('account_id').primaryKey(),
  activations: integer('activations').notNull().default(0),
  failedActivations: integer('failed_activations').notNull().default(0),
  modelRequests: integer('model_requests').notNull().default(0),
  modelFailures: integer('model_failures').notNull().default(0),
  toolExecutions: integer('tool_executions').notNull().default(0),
  toolFailures: integer('tool_failures').notNull().default(0),
  permissionDenials: integer('permission_denials').notNull().default(0),
  compactions: integer('compactions').notNull().default(0),
  retries: integer('retries').notNull().default(0),
  parks: integer('parks').notNull().default(0),
  /** Traces that could not be sent to a collector. */
  exportFailures: integer('export_failures').notNull().default(0),
  toolRefusals: integer('tool_refusals').notNull().default(0),
})

export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    accountId: text('account_id').notNull(),
    key: text('key').notNull(),
    /** SHA-256 of method, path and body. */
    requestHash: text('request_hash').notNull(),
    status: integer('status').notNull(),
    /** Null when the answer held a secret: then a repeat is refused. */
    answer: text('answer'),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.key] })],
)

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

/** Live objects that can have watchers; those that are not here have none. */
export const liveObjects = sqliteTable('live_objects', {
  /** Of `toLiveObjectName`. */
  name: text('name').primaryKey(),
  /** When somebody last began to watch, within `liveLimits.markedMs`. */
  watchedAt: integer('watched_at').notNull(),
})
