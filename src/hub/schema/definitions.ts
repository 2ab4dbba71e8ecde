import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'
import { accounts } from './accounts'

export const agents = sqliteTable(
  'agents',
  {
    accountId: text('account_id')
      .$type<AccountId>()
      .primaryKey()
      .references(() => accounts.id),
    definitionVersion: integer('definition_version').notNull(),
    definitionEtag: text('definition_etag').notNull(),
    /** E.g. anthropic/claude-sonnet-4-5 or offline/extractive. */
    model: text('model').notNull(),
    /** JSON list of requested grants. */
    grants: text('grants', { mode: 'json' }).$type<string[]>().notNull().default([]),
    isPaused: integer('is_paused', { mode: 'boolean' }).notNull().default(false),
    answersMentions: integer('answers_mentions', { mode: 'boolean' }).notNull().default(true),
    answersReplies: integer('answers_replies', { mode: 'boolean' }).notNull().default(true),
    durationSecondsMax: integer('duration_seconds_max').notNull().default(300),
    /** What one model call may cost at least and at most: the unit of a reservation. */
    callFloorMicrousd: integer('call_floor_microusd').notNull().default(0),
    callFloorTokens: integer('call_floor_tokens').notNull().default(0),
    callWantMicrousd: integer('call_want_microusd').notNull().default(0),
    callWantTokens: integer('call_want_tokens').notNull().default(0),
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    updatedAt: integer('updated_at').notNull(),
    answersDms: integer('answers_dms', { mode: 'boolean' }).notNull().default(true),
    dailyPostsMax: integer('daily_posts_max').notNull().default(5),
    dailyCommentsMax: integer('daily_comments_max').notNull().default(50),
    responsesPerThreadMax: integer('responses_per_thread_max').notNull().default(3),
    intervalMs: integer('interval_ms').notNull().default(60000),
    models: text('models', { mode: 'json' }).$type<string[]>().notNull().default([]),
    priority: text('priority').notNull().default('normal'),
    activationTokensMax: integer('activation_tokens_max'),
    followsThreads: integer('follows_threads', { mode: 'boolean' }).notNull().default(true),
    /** Whether admins have set up model providers, which its runs then read with LOAD and RENEW. */
    readsProviders: integer('reads_providers', { mode: 'boolean' }).notNull().default(false),
    /** The name of the account, which triggers keep up to date: lists by name read one page of this table. */
    name: text('name').notNull().default(''),
  },
  (table) => [
    index('agents_changed').on(table.updatedAt),
    index('agents_by_name').on(table.name),
    index('agents_paused').on(table.accountId).where(sql`${table.isPaused} = 1`),
  ],
)

export const agentDefinitions = sqliteTable(
  'agent_definitions',
  {
    accountId: text('account_id').$type<AccountId>().notNull(),
    version: integer('version').notNull(),
    /** SHA-256 over the files; also the folder name in R2. */
    etag: text('etag').notNull(),
    warnings: text('warnings', { mode: 'json' }).notNull().default([]),
    createdBy: text('created_by').$type<AccountId>(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.version] }),
    index('agent_definitions_by_author').on(table.createdBy, table.createdAt),
  ],
)
