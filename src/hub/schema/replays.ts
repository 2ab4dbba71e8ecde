import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'
import { type ActivationError, outcomes } from '../../shared/errors'
import type { AccountId, ActivationId, CommunityId, ReplayId } from '../../shared/ids'
import { accountRef } from './accounts'
import { activations } from './activations'

/** Runs that run again, with their definition and with a draft of another. */
export const replays = sqliteTable(
  'replays',
  {
    id: text('id').$type<ReplayId>().primaryKey(),
    /** The run. */
    activationId: text('activation_id')
      .$type<ActivationId>()
      .notNull()
      .references(() => activations.id),
    /** Who asked for it, and pays. */
    requestedBy: accountRef('requested_by').notNull(),
    /** Files of the draft by path; null: the definition of the run. */
    draft: text('draft', { mode: 'json' }).$type<Record<string, string>>(),
    /** The version that the baseline runs as it would today; null: that of the run, as it was then. */
    baselineVersion: integer('baseline_version'),
    createdAt: integer('created_at').notNull(),
    cancelledAt: integer('cancelled_at'),
  },
  (table) => [
    index('replays_of_run').on(table.activationId, sql`${table.createdAt} DESC`),
    index('replays_by_account').on(table.requestedBy),
  ],
)

/**
 * The lanes of replays: what each runs, what it has reserved, and how it ended. Its record is in `activation_traces` under
 * its id. It has the columns of an activation that decide who pays, and is none: it holds no slot, and keeps no agent from
 * running.
 */
export const replayLanes = sqliteTable(
  'replay_lanes',
  {
    id: text('id').$type<ActivationId>().primaryKey(),
    /** Null once it was deleted: who paid for the calls of its lanes stays. */
    replayId: text('replay_id')
      .$type<ReplayId>()
      .references(() => replays.id),
    /** The run. */
    activationId: text('activation_id').$type<ActivationId>().notNull(),
    /** `judge` compares an answer of both definitions, for a trial. */
    lane: text('lane', { enum: ['baseline', 'candidate', 'judge'] }).notNull(),
    /** From 1, of the repeats. */
    sample: integer('sample').notNull(),
    /** Of a baseline: a hash of what decides what it does, apart from chance; null before its first call. */
    inputs: text('inputs'),
    /** The lane of an earlier replay whose result it has; null for one that ran itself. */
    reusedFrom: text('reused_from').$type<ActivationId>(),
    /** `failed`: its end is unknown, because its object did not report it in time. */
    state: text('state', { enum: ['queued', 'running', 'done', 'cancelled', 'failed'] }).notNull(),
    agentId: accountRef('agent_id').notNull(),
    communityId: text('community_id').$type<CommunityId>(),
    /** The only one: who asked for the replay. */
    requesters: text('requesters', { mode: 'json' }).$type<AccountId[]>().notNull(),
    /** Who pays, as it was when the lane started. */
    payers: text('payers', { mode: 'json' })
      .$type<Record<AccountId, object>>()
      .notNull()
      .default({}),
    isForGuest: integer('is_for_guest', { mode: 'boolean' }).notNull().default(false),
    /** The model of the next call, as a list. */
    models: text('models', { mode: 'json' }).$type<string[]>().notNull().default([]),
    /** Grants that its definition requests. */
    grants: text('grants', { mode: 'json' }).$type<string[]>().notNull(),
    durationMsMax: integer('duration_ms_max').notNull(),
    tokensMax: integer('tokens_max').notNull(),
    costMaxMicrousd: integer('cost_max_microusd').notNull(),
    reservedMicrousd: integer('reserved_microusd').notNull().default(0),
    reservedTokens: integer('reserved_tokens').notNull().default(0),
    reservedAt: integer('reserved_at').notNull().default(0),
    /** How many calls were charged when it last reserved. */
    reservedCalls: integer('reserved_calls').notNull().default(0),
    startedAt: integer('started_at'),
    deadlineAt: integer('deadline_at'),
    finishedAt: integer('finished_at'),
    outcome: text('outcome', { enum: outcomes }),
    /** Redacted. */
    error: text('error', { mode: 'json' }).$type<ActivationError>(),
    answer: text('answer').notNull().default(''),
    steps: integer('steps').notNull().default(0),
    tokens: integer('tokens').notNull().default(0),
    costMicrousd: integer('cost_microusd').notNull().default(0),
    durationMs: integer('duration_ms').notNull().default(0),
    /** Why it does not show what would have happened; null when it does. */
    incomplete: text('incomplete'),
    /** What else a reader should know of it, as sentences. */
    notes: text('notes', { mode: 'json' }).$type<string[]>().notNull().default([]),
    /** Its tool calls, as JSON. */
    calls: text('calls').notNull().default('[]'),
  },
  (table) => [
    unique().on(table.replayId, table.lane, table.sample),
    index('replay_lanes_queued').on(table.id).where(sql`${table.state} = 'queued'`),
    index('replay_lanes_running').on(table.deadlineAt).where(sql`${table.state} = 'running'`),
  ],
)
