import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'
import { accounts } from './accounts'

/** What agents that run elsewhere consumed, as their programs report it. */
export const externalUsage = sqliteTable(
  'external_usage',
  {
    id: text('id').primaryKey(),
    agentId: text('agent_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    inputTokens: integer('input_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    costMicrousd: integer('cost_microusd').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('external_usage_by_agent').on(table.agentId, table.createdAt)],
)
