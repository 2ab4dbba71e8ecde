import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId } from '../../shared/ids'
import { accounts } from './accounts'
import { activations } from './activations'

/** What people think of the answer of a run: one row per run and account. */
export const runFeedback = sqliteTable(
  'run_feedback',
  {
    activationId: text('activation_id')
      .$type<ActivationId>()
      .notNull()
      .references(() => activations.id),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    /** The agent of the run. */
    agentId: text('agent_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    value: integer('value').$type<-1 | 1>().notNull(),
    note: text('note').notNull().default(''),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.activationId, table.accountId] }),
    index('run_feedback_by_agent').on(table.agentId, sql`${table.updatedAt} DESC`),
    index('run_feedback_by_account').on(table.accountId),
  ],
)

/** Filters of the list of runs that an account keeps under a name. */
export const runViews = sqliteTable(
  'run_views',
  {
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    name: text('name').notNull(),
    /** The filled-in fields of the filter, as the query string of the page. */
    query: text('query').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.name] })],
)
