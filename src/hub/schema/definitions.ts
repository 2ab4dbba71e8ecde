import { sql } from 'drizzle-orm'
import {
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId, CommentId, HeldId, TrialId } from '../../shared/ids'
import type { Review } from '../contract/reviews'
import type { TrialGate } from '../contract/trials'
import { accountRef } from './accounts'
import { postRef } from './posts'

export const agents = sqliteTable(
  'agents',
  {
    accountId: accountRef('account_id').primaryKey(),
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
    /** The trial that a change of the active definition has to pass, with the key of its set; null: none. */
    gate: text('gate', { mode: 'json' }).$type<TrialGate & { setKey: string }>(),
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

/**
 * Saved definitions that become active once a trial has passed, and what became of them. Their files are in R2 under the
 * etag.
 */
export const heldDefinitions = sqliteTable(
  'held_definitions',
  {
    id: text('id').$type<HeldId>().primaryKey(),
    agentId: accountRef('agent_id').notNull(),
    etag: text('etag').notNull(),
    /** The active version when it was saved. */
    baseVersion: integer('base_version').notNull(),
    /** The earlier version whose files it has, of one that restores it. */
    restoredFrom: integer('restored_from'),
    /** Grants to add to the policy of the agent with it. */
    allowGrants: text('allow_grants', { mode: 'json' }).$type<string[]>().notNull().default([]),
    savedBy: accountRef('saved_by').notNull(),
    savedAt: integer('saved_at').notNull(),
    /** What it has to pass. */
    gate: text('gate', { mode: 'json' }).$type<TrialGate>().notNull(),
    /** Null when none could start. */
    trialId: text('trial_id').$type<TrialId>(),
    /** Why it is not applied; null while its trial decides. */
    problem: text('problem'),
    /** Null while it waits: one of an agent at a time. */
    outcome: text('outcome', { enum: ['applied', 'discarded', 'replaced'] }),
    /** Null: its trial decided. */
    decidedBy: accountRef('decided_by'),
    decidedAt: integer('decided_at'),
    /** The version that it became. */
    version: integer('version'),
  },
  (table) => [
    uniqueIndex('held_definitions_waiting').on(table.agentId).where(sql`${table.outcome} IS NULL`),
    index('held_definitions_of_agent').on(table.agentId, table.id),
    index('held_definitions_by_account').on(table.savedBy),
    index('held_definitions_by_decider').on(table.decidedBy),
  ],
)

/** Branches that runs of coding agents pushed, each with the thread that it belongs to. */
export const pushedBranches = sqliteTable(
  'pushed_branches',
  {
    agentId: accountRef('agent_id').notNull(),
    /** `service/owner/name`, in lower case. */
    repository: text('repository').notNull(),
    /** Without `refs/heads/`. */
    branch: text('branch').notNull(),
    postId: postRef('post_id').notNull(),
    pushedAt: integer('pushed_at').notNull(),
    /** The pull request of the branch in its own repository, once the service has named it. */
    pullNumber: integer('pull_number'),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.repository, table.branch] })],
)

/** Reviews that were taken, so that none is taken twice. */
export const receivedReviews = sqliteTable(
  'received_reviews',
  {
    triggerId: text('trigger_id').notNull(),
    /** What was received and its id at the service, such as `review:7`. */
    reviewKey: text('review_key').notNull(),
    /** The comment that shows it, or will: what is held under the same id becomes one comment. */
    commentId: text('comment_id').$type<CommentId>().notNull(),
    createdAt: integer('created_at').notNull(),
    /** What was said, while it waits for the rest of its review; null once that was posted. */
    part: text('part', { mode: 'json' }).$type<Review>(),
  },
  (table) => [
    primaryKey({ columns: [table.triggerId, table.reviewKey] }),
    index('received_reviews_held').on(table.commentId).where(sql`${table.part} IS NOT NULL`),
  ],
)

export const explorers = sqliteTable('explorers', {
  accountId: accountRef('account_id').primaryKey(),
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
    /** Who saved the entry first as it is. */
    savedBy: text('saved_by').$type<AccountId>(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.key] }),
    index('schedules_due').on(table.dueAt),
  ],
)

/** Model providers that are down. */
export const providerOutages = sqliteTable('provider_outages', {
  /** Base URL of the provider. */
  address: text('address').primaryKey(),
  startedAt: integer('started_at').notNull(),
  /** When an agent tries the provider again. */
  dueAt: integer('due_at').notNull(),
  /** Failed attempts since the first one. */
  attempts: integer('attempts').notNull(),
})

/** Agents that wait for a provider, each with the parked activation that waits. */
export const outageWaits = sqliteTable(
  'outage_waits',
  {
    agentId: text('agent_id').$type<AccountId>().primaryKey(),
    activationId: text('activation_id').$type<ActivationId>().notNull(),
    address: text('address').notNull(),
    since: integer('since').notNull(),
  },
  (table) => [
    index('outage_waits_by_address').on(table.address, table.since, table.agentId),
    index('outage_waits_by_activation').on(sql`${table.activationId}`),
  ],
)
