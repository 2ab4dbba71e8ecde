import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'
import { accounts } from './accounts'

export const settings = sqliteTable('settings', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
  updatedAt: integer('updated_at').notNull(),
})

export const agentCounters = sqliteTable('agent_counters', {
  accountId: text('account_id')
    .$type<AccountId>()
    .primaryKey()
    .references(() => accounts.id),
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
