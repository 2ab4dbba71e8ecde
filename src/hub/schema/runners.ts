import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'
import { accounts } from './accounts'

/** Keys of runners, the processes that run coding agents. They open the runners' socket and nothing else. */
export const runnerKeys = sqliteTable(
  'runner_keys',
  {
    id: text('id').primaryKey(),
    /** Who made it; it works while that account is an admin. */
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    hash: text('hash').notNull().unique(),
    label: text('label').notNull(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [index('runner_keys_by_account').on(table.accountId)],
)
