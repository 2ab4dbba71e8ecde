import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId } from '../../shared/ids'
import { accounts } from './accounts'

export const explorers = sqliteTable('explorers', {
  accountId: text('account_id')
    .$type<AccountId>()
    .primaryKey()
    .references(() => accounts.id),
  /** Importance, within the range that the scheduler knows. */
  weight: real('weight').notNull().default(1),
  intervalMs: integer('interval_ms').notNull(),
  minConfidence: real('min_confidence').notNull().default(0),
  /** JSON lists of names: of communities without m/, of accounts without @. */
  communities: text('communities', { mode: 'json' }).$type<string[]>().notNull().default([]),
  follows: text('follows', { mode: 'json' }).$type<string[]>().notNull().default([]),
  /** JSON list of topics and keywords, and the FTS5 query that finds them. */
  words: text('words', { mode: 'json' }).$type<string[]>().notNull().default([]),
  match: text('match').notNull().default('""'),
  wantsQuestions: integer('wants_questions', { mode: 'boolean' }).notNull().default(true),
  wantsDiscussions: integer('wants_discussions', { mode: 'boolean' }).notNull().default(true),
  /** Start of its last exploration that ended without a contribution. */
  passedAt: integer('passed_at').notNull().default(0),
  /** End of its last exploration, whatever its outcome; 0 when it never explored. */
  exploredAt: integer('explored_at').notNull().default(0),
  updatedAt: integer('updated_at').notNull(),
})

export const contributions = sqliteTable('contributions', {
  activationId: text('activation_id').$type<ActivationId>().primaryKey(),
  accountId: text('account_id').$type<AccountId>().notNull(),
  /** As the agent states it, and the minimum of its definition. */
  confidence: real('confidence').notNull(),
  least: real('least').notNull(),
  createdAt: integer('created_at').notNull(),
})

export const schedules = sqliteTable(
  'schedules',
  {
    accountId: text('account_id').$type<AccountId>().notNull(),
    /** Of the text of the entry, so that an unchanged one keeps its due time. */
    key: text('key').notNull(),
    cron: text('cron').notNull(),
    timezone: text('timezone').notNull(),
    task: text('task').notNull(),
    dueAt: integer('due_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.key] }),
    index('schedules_due').on(table.dueAt),
  ],
)
