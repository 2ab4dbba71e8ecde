import { index, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'

export const grantPolicies = sqliteTable('grant_policies', {
  accountId: text('account_id').$type<AccountId>().primaryKey(),
  allowed: text('allowed').notNull().default('[]'),
  denied: text('denied').notNull().default('[]'),
  updatedBy: text('updated_by'),
  updatedAt: integer('updated_at').notNull(),
  requireApproval: text('require_approval').notNull().default('[]'),
  rateLimits: text('rate_limits').notNull().default('[]'),
})

export const rateBuckets = sqliteTable(
  'rate_buckets',
  {
    id: text('id').primaryKey(),
    tokens: real('tokens').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [index('rate_buckets_idle').on(table.updatedAt)],
)
