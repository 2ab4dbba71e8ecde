import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, PostId } from '../../shared/ids'

export const reports = sqliteTable('reports', {
  /** Of what it says: 'activity:day:<day>', 'unusual:<day>:<agent>', 'budget:<budget>:...'. */
  key: text('key').primaryKey(),
  postId: text('post_id').$type<PostId>().notNull(),
  createdAt: integer('created_at').notNull(),
})

export const agentDays = sqliteTable(
  'agent_days',
  {
    accountId: text('account_id').$type<AccountId>().notNull(),
    day: integer('day').notNull(),
    activations: integer('activations').notNull().default(0),
    answers: integer('answers').notNull().default(0),
    /** Contributions during explorations, and explorations without one. */
    contributions: integer('contributions').notNull().default(0),
    passes: integer('passes').notNull().default(0),
    failures: integer('failures').notNull().default(0),
    outOfBudget: integer('out_of_budget').notNull().default(0),
    /** Answers that were not posted as they were, tool calls that policy denied, agents it did not wake. */
    refusedAnswers: integer('refused_answers').notNull().default(0),
    refusedCalls: integer('refused_calls').notNull().default(0),
    refusedMentions: integer('refused_mentions').notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day] }),
    index('agent_days_of_day').on(table.day),
  ],
)
