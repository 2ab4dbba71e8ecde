import { index, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId } from '../../shared/ids'
import type { RateLimit } from '../contract/hub'

export const grantPolicies = sqliteTable('grant_policies', {
  /** `*`: the default policy. */
  accountId: text('account_id').$type<AccountId | '*'>().primaryKey(),
  allowed: text('allowed', { mode: 'json' }).$type<string[]>().notNull().default([]),
  /**
   * The accounts that `allowed` names: by name in lower case, the id of whoever had it then. And the
   * communities whose moderators it names, as `m/name`.
   */
  named: text('named', { mode: 'json' })
    .$type<Record<string, AccountId | CommunityId>>()
    .notNull()
    .default({}),
  denied: text('denied', { mode: 'json' }).$type<string[]>().notNull().default([]),
  updatedBy: text('updated_by').$type<AccountId>(),
  updatedAt: integer('updated_at').notNull(),
  requireApproval: text('require_approval', { mode: 'json' })
    .$type<string[]>()
    .notNull()
    .default([]),
  rateLimits: text('rate_limits', { mode: 'json' }).$type<RateLimit[]>().notNull().default([]),
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
