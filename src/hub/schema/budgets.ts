import { sql } from 'drizzle-orm'
import {
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  unique,
} from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId, BudgetId, CommunityId, PostId } from '../../shared/ids'
import { accountRef } from './accounts'

/** Scopes of budgets that hold for each account with a role, which has a window of its own. */
const roleScopes = ['role:member', 'role:guest'] as const

/** What a budget pays for. */
export const budgetScopes = [
  'hub',
  'agent',
  'provider',
  'model',
  'community',
  'requester',
  'guests',
  'replay',
  ...roleScopes,
] as const

/** Shares of a limit at which the level of a budget changes, unless the budget has its own. */
export const defaultThresholds = { warningShare: 0.8, throttleShare: 0.9, criticalShare: 1 }

export const usageEvents = sqliteTable(
  'usage_events',
  {
    activationId: text('activation_id').$type<ActivationId>().notNull(),
    /** Number of the model call within the activation, retries included. */
    call: integer('call').notNull(),
    accountId: text('account_id').$type<AccountId>().notNull(),
    model: text('model').notNull(),
    task: text('task').notNull(),
    postId: text('post_id').$type<PostId>(),
    inputTokens: integer('input_tokens').notNull(),
    cachedTokens: integer('cached_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    reasoningTokens: integer('reasoning_tokens').notNull(),
    costMicrousd: integer('cost_microusd').notNull(),
    isPriced: integer('is_priced', { mode: 'boolean' }).notNull(),
    isEstimated: integer('is_estimated', { mode: 'boolean' }).notNull(),
    durationMs: integer('duration_ms').notNull(),
    createdAt: integer('created_at').notNull(),
    communityId: text('community_id').$type<CommunityId>(),
  },
  (table) => [
    primaryKey({ columns: [table.activationId, table.call] }),
    index('usage_by_account').on(table.accountId, table.createdAt),
    index('usage_by_time').on(table.createdAt),
  ],
)

export const budgetWindows = sqliteTable(
  'budget_windows',
  {
    budgetId: text('budget_id').$type<BudgetId>().notNull(),
    startsAt: integer('starts_at').notNull(),
    endsAt: integer('ends_at').notNull(),
    spentMicrousd: integer('spent_microusd').notNull().default(0),
    spentTokens: integer('spent_tokens').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.budgetId, table.startsAt] })],
)

/** What an account has spent of a budget of its role in one window; without a row it has spent nothing. */
export const budgetAccountWindows = sqliteTable(
  'budget_account_windows',
  {
    budgetId: text('budget_id').$type<BudgetId>().notNull(),
    /** That of the budget's window. */
    startsAt: integer('starts_at').notNull(),
    accountId: text('account_id').$type<AccountId>().notNull(),
    spentMicrousd: integer('spent_microusd').notNull().default(0),
    spentTokens: integer('spent_tokens').notNull().default(0),
    /** The least that the last refused call could take; null when none was refused. */
    neededMicrousd: integer('needed_microusd'),
    neededTokens: integer('needed_tokens'),
    /** Whether it is to be reported, or was, that the account has used up the limit. */
    alert: text('alert', { enum: ['none', 'due', 'sent'] })
      .notNull()
      .default('none'),
  },
  (table) => [
    primaryKey({ columns: [table.budgetId, table.startsAt, table.accountId] }),
    index('budget_account_windows_due').on(table.budgetId).where(sql`${table.alert} = 'due'`),
  ],
)

export const budgets = sqliteTable(
  'budgets',
  {
    id: text('id').$type<BudgetId>().primaryKey(),
    scope: text('scope', { enum: budgetScopes }).notNull(),
    /** '' for the hub, guests, replays and roles, account id of an agent, name of a provider, provider/model, id of a community. */
    scopeId: text('scope_id').notNull().default(''),
    period: text('period', { enum: ['day', 'week', 'month'] }).notNull(),
    resetDay: integer('reset_day').notNull().default(1),
    timezone: text('timezone').notNull().default('UTC'),
    /** Null: no limit of that kind. */
    limitMicrousd: integer('limit_microusd'),
    limitTokens: integer('limit_tokens'),
    /** Shares of the limit from which on it warns, pauses exploration, and refuses tasks. */
    warningShare: real('warning_share').notNull().default(defaultThresholds.warningShare),
    throttleShare: real('throttle_share').notNull().default(defaultThresholds.throttleShare),
    criticalShare: real('critical_share').notNull().default(defaultThresholds.criticalShare),
    /** Whether tasks of critical priority may use what lies beyond critical_share. */
    allowsCritical: integer('allows_critical', { mode: 'boolean' }).notNull().default(false),
    /** An agent's definition sets a limit of its own beside those that admins made. */
    madeBy: text('made_by', { enum: ['admin', 'definition'] })
      .notNull()
      .default('admin'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [unique().on(table.scope, table.scopeId, table.period, table.madeBy)],
)

export const budgetLevels = sqliteTable(
  'budget_levels',
  {
    budgetId: text('budget_id').$type<BudgetId>().primaryKey(),
    /** Start of the window that the level belongs to. */
    startsAt: integer('starts_at').notNull().default(0),
    level: integer('level').notNull().default(0),
    /** A threshold may have been crossed since: the next sweep reads it. */
    isCrossed: integer('is_crossed', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    index('budget_levels_crossed').on(table.budgetId).where(sql`${table.isCrossed} = 1`),
    index('budget_levels_open')
      .on(table.budgetId)
      .where(sql`${table.isCrossed} = 1 OR ${table.level} > 0`),
  ],
)

/** The last call that each budget refused. */
export const budgetRefusals = sqliteTable('budget_refusals', {
  budgetId: text('budget_id').$type<BudgetId>().primaryKey(),
  /** Start of the window that refused it. */
  startsAt: integer('starts_at').notNull(),
  /** The least that the call could take. */
  neededMicrousd: integer('needed_microusd').notNull(),
  neededTokens: integer('needed_tokens').notNull(),
  refusedAt: integer('refused_at').notNull(),
})

export const usageDays = sqliteTable(
  'usage_days',
  {
    scope: text('scope').notNull(),
    /** Days since the Unix epoch. */
    day: integer('day').notNull(),
    scopeId: text('scope_id').notNull(),
    calls: integer('calls').notNull(),
    estimatedCalls: integer('estimated_calls').notNull(),
    inputTokens: integer('input_tokens').notNull(),
    cachedTokens: integer('cached_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    reasoningTokens: integer('reasoning_tokens').notNull(),
    costMicrousd: integer('cost_microusd').notNull(),
    /** Of models without a price. */
    unpricedCalls: integer('unpriced_calls').notNull(),
    unpricedTokens: integer('unpriced_tokens').notNull(),
  },
  (table) => [primaryKey({ columns: [table.scope, table.day, table.scopeId] })],
)

/**
 * What runs spent on behalf of each requester in the current window of the hub's main budget, of the calls
 * that a sweep has counted.
 */
export const requesterSpending = sqliteTable(
  'requester_spending',
  {
    /** An account id, or `task:` and the task of runs that nobody asked for. */
    requester: text('requester').primaryKey(),
    spentMicrousd: integer('spent_microusd').notNull(),
    spentTokens: integer('spent_tokens').notNull(),
  },
  (table) => [
    index('requester_spending_most').on(
      sql`${table.spentMicrousd} DESC`,
      sql`${table.spentTokens} DESC`,
    ),
  ],
)

/** The same of windows that have ended: the requesters on whose behalf the most was spent. */
export const requesterSpendingPast = sqliteTable(
  'requester_spending_past',
  {
    startsAt: integer('starts_at').notNull(),
    budgetId: text('budget_id').$type<BudgetId>().notNull(),
    requester: text('requester').notNull(),
    spentMicrousd: integer('spent_microusd').notNull(),
    spentTokens: integer('spent_tokens').notNull(),
  },
  (table) => [primaryKey({ columns: [table.startsAt, table.budgetId, table.requester] })],
)

/** One row: the window that `requester_spending` counts, and before which time its calls are in it. */
export const requesterSpendingProgress = sqliteTable('requester_spending_progress', {
  budgetId: text('budget_id').$type<BudgetId>().primaryKey(),
  startsAt: integer('starts_at').notNull(),
  countedUntil: integer('counted_until').notNull(),
})

/** What agents that run elsewhere consumed, as their programs report it. */
export const externalUsage = sqliteTable(
  'external_usage',
  {
    id: text('id').primaryKey(),
    agentId: accountRef('agent_id').notNull(),
    inputTokens: integer('input_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    costMicrousd: integer('cost_microusd').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [index('external_usage_by_agent').on(table.agentId, table.createdAt)],
)

export const reports = sqliteTable('reports', {
  /** Of what it says: 'activity:day:<day>', 'unusual:<day>:<agent>', 'budget:<budget>:...', 'welcome'. */
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
