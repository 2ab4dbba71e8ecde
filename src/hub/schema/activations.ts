import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { type ActivationError, outcomes } from '../../shared/errors'
import type { AccountId, ActivationId, CommentId, CommunityId, PostId } from '../../shared/ids'
import { accountRef } from './accounts'

export const activationTraces = sqliteTable('activation_traces', {
  activationId: text('activation_id').$type<ActivationId>().primaryKey(),
  trace: text('trace').notNull(),
})

/** An account whose budgets pay for a run. */
interface Payer {
  /** At the time of the claim; an account that is gone counts as a guest. */
  role: 'guest' | 'member' | 'admin' | 'system'
  /** How many requesters it pays for: itself, and agents that it claimed. */
  parts: number
  /** 1 when it pays for the first requester, who has the remainder of a shared cost. */
  isFirst: 0 | 1
  /** Owns the agent, and pays the whole. Absent in runs from before members owned agents. */
  isOwner?: 0 | 1
}

export const activations = sqliteTable(
  'activations',
  {
    id: text('id').$type<ActivationId>().primaryKey(),
    agentId: accountRef('agent_id').notNull(),
    class: text('class', { enum: ['inbox', 'exploration'] }).notNull(),
    task: text('task', {
      enum: ['mention', 'reply', 'dm', 'exploration', 'scheduled', 'manual'],
    }).notNull(),
    /** Parked: waits for a person's decision; holds no slot, no deadline and no reservation. */
    state: text('state', { enum: ['running', 'parked', 'done'] }).notNull(),
    /** 'granted', or why it may only say so politely: 'budget_exhausted'. */
    admission: text('admission', { enum: ['granted', 'budget_exhausted'] }).notNull(),
    postId: text('post_id').$type<PostId>(),
    model: text('model').notNull(),
    definitionVersion: integer('definition_version').notNull(),
    startedAt: integer('started_at').notNull(),
    deadlineAt: integer('deadline_at').notNull(),
    reservedMicrousd: integer('reserved_microusd').notNull().default(0),
    reservedTokens: integer('reserved_tokens').notNull().default(0),
    /** What was settled when it was parked; part of the totals below once it is done. */
    settledMicrousd: integer('settled_microusd').notNull().default(0),
    settledTokens: integer('settled_tokens').notNull().default(0),
    finishedAt: integer('finished_at'),
    outcome: text('outcome', { enum: outcomes }),
    /** Redacted. */
    error: text('error', { mode: 'json' }).$type<ActivationError>(),
    iterations: integer('iterations').notNull().default(0),
    inputTokens: integer('input_tokens').notNull().default(0),
    cachedTokens: integer('cached_tokens').notNull().default(0),
    outputTokens: integer('output_tokens').notNull().default(0),
    costMicrousd: integer('cost_microusd').notNull().default(0),
    isPriced: integer('is_priced', { mode: 'boolean' }).notNull().default(true),
    /** Names of tools in order of first use. */
    tools: text('tools', { mode: 'json' }).$type<string[]>().notNull().default([]),
    replyCommentId: text('reply_comment_id').$type<CommentId>(),
    /** Why the reply was not posted although there was one. */
    replyRefusal: text('reply_refusal'),
    resumedBy: text('resumed_by').$type<ActivationId>(),
    cancelRequestedAt: integer('cancel_requested_at'),
    models: text('models', { mode: 'json' }).$type<string[]>().notNull().default([]),
    communityId: text('community_id').$type<CommunityId>(),
    priority: text('priority').notNull().default('normal'),
    reservedAt: integer('reserved_at').notNull().default(0),
    /** Whether the budget of the guests pays for it. */
    isForGuest: integer('is_for_guest', { mode: 'boolean' }).notNull().default(false),
    /** The accounts whose items it answers; empty: the hub itself, in an exploration. */
    requesters: text('requesters', { mode: 'json' }).$type<AccountId[]>().notNull().default([]),
    /** Its requesters and their owners, by account id, as they were when it was claimed. */
    payers: text('payers', { mode: 'json' })
      .$type<Record<AccountId, Payer>>()
      .notNull()
      .default({}),
    /** Grants that its definition requests and the policy did not grant for its requesters. */
    notGranted: text('not_granted', { mode: 'json' }).$type<string[]>().notNull().default([]),
    /** Whether it used the account that its requester connected: then its trace is the requester's. */
    usesOwnAccount: integer('uses_own_account', { mode: 'boolean' }).notNull().default(false),
    /** The coding agent that worked on it; null for a run of the hub itself. */
    program: text('program'),
    /** The attempt that a runner makes, or made last. */
    runAttempt: integer('run_attempt'),
    isRunAttemptEnded: integer('is_run_attempt_ended', { mode: 'boolean' })
      .notNull()
      .default(false),
  },
  (table) => [
    index('activations_resumed').on(table.resumedBy).where(sql`${table.resumedBy} IS NOT NULL`),
    index('activations_new').on(sql`${table.startedAt} DESC`, sql`${table.id} DESC`),
    index('activations_on_post').on(table.postId, table.startedAt),
    index('activations_by_agent').on(
      table.agentId,
      sql`${table.startedAt} DESC`,
      sql`${table.id} DESC`,
    ),
    index('activations_parked').on(table.agentId).where(sql`${table.state} = 'parked'`),
    index('activations_running').on(table.deadlineAt).where(sql`${table.state} = 'running'`),
    uniqueIndex('activations_one_running').on(table.agentId).where(sql`${table.state} = 'running'`),
  ],
)

/** What people think of the answer of a run: one row per run and account. */
export const runFeedback = sqliteTable(
  'run_feedback',
  {
    activationId: text('activation_id')
      .$type<ActivationId>()
      .notNull()
      .references(() => activations.id),
    accountId: accountRef('account_id').notNull(),
    /** The agent of the run. */
    agentId: accountRef('agent_id').notNull(),
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
    accountId: accountRef('account_id').notNull(),
    name: text('name').notNull(),
    /** The filled-in fields of the filter, as the query string of the page. */
    query: text('query').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.name] })],
)
