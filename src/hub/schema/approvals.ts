import { sql } from 'drizzle-orm'
import { index, integer, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId, CommunityId } from '../../shared/ids'
import type { ApprovalReason, ArgumentRule } from '../contract/calls'
import type { RateLimit } from '../contract/hub'
import { accountRef } from './accounts'
import { communityRef } from './communities'

export const approvals = sqliteTable(
  'approvals',
  {
    /** Activation and call, as '<activation>:<call>'; for an outside caller an id of its own. */
    id: text('id').primaryKey(),
    accountId: accountRef('account_id').notNull(),
    /** Null for an outside caller, who repeats the call once it is approved. */
    activationId: text('activation_id').$type<ActivationId>(),
    /** The run whose token the outside caller had; null: it called with a key. */
    runId: text('run_id').$type<ActivationId>(),
    callId: text('call_id').notNull(),
    tool: text('tool').notNull(),
    grant: text('grant').notNull(),
    tier: text('tier', { enum: ['read', 'write', 'destructive'] }).notNull(),
    /** Raw JSON, final; once the approval is no longer pending, that of `maskedArguments`. */
    arguments: text('arguments').notNull(),
    /** JSON with whole secrets masked. */
    maskedArguments: text('masked_arguments').notNull().default(''),
    argumentsHash: text('arguments_hash').notNull(),
    status: text('status', { enum: ['pending', 'approved', 'denied', 'expired', 'cancelled'] })
      .notNull()
      .default('pending'),
    /** Of an approved one: for this call, or for all of this tool and grant in its activation. */
    scope: text('scope', { enum: ['once', 'activation'] })
      .notNull()
      .default('once'),
    decidedBy: text('decided_by').$type<AccountId>(),
    note: text('note').notNull().default(''),
    /** The audit entry of the outside call that used it up. */
    usedBy: text('used_by'),
    /** Why the call requires approval. */
    reasons: text('reasons', { mode: 'json' }).$type<ApprovalReason[]>().notNull().default([]),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    decidedAt: integer('decided_at'),
  },
  (table) => [
    uniqueIndex('approvals_asked_once')
      .on(table.accountId, table.tool, table.argumentsHash, sql`coalesce(${table.runId}, '')`)
      .where(sql`${table.activationId} IS NULL AND ${table.status} = 'pending'`),
    index('approvals_outside')
      .on(table.accountId, table.tool, table.argumentsHash, table.createdAt)
      .where(sql`${table.activationId} IS NULL`),
    index('approvals_of_activation')
      .on(table.activationId)
      .where(sql`${table.activationId} IS NOT NULL`),
    index('approvals_new').on(table.createdAt),
    index('approvals_decided').on(table.decidedAt).where(sql`${table.decidedAt} IS NOT NULL`),
    index('approvals_pending').on(table.expiresAt).where(sql`${table.status} = 'pending'`),
  ],
)

/** Calls that need no approval until a time. Triggers end the rules of who can no longer approve. */
export const standingRules = sqliteTable(
  'standing_rules',
  {
    id: text('id').primaryKey(),
    agentId: accountRef('agent_id').notNull(),
    tool: text('tool').notNull(),
    grant: text('grant').notNull(),
    tier: text('tier', { enum: ['read', 'write', 'destructive'] }).notNull(),
    arguments: text('arguments', { mode: 'json' }).$type<ArgumentRule[]>().notNull(),
    /** Hash of the tool's definition when the rule was made. */
    toolHash: text('tool_hash').notNull(),
    /** Null: outside of communities, unless the rule holds anywhere. */
    communityId: communityRef('community_id'),
    /** Null: whoever requests. */
    requesterId: accountRef('requester_id'),
    /** The run whose call it was made from; null for a call with a key. */
    activationId: text('activation_id').$type<ActivationId>(),
    createdBy: accountRef('created_by').notNull(),
    createdAt: integer('created_at').notNull(),
    endsAt: integer('ends_at').notNull(),
    /** Why it ended before its time; null: it did not. */
    ended: text('ended', { enum: ['revoked', 'creator'] }),
    /** Holds in any community, and outside of communities. */
    isAnywhere: integer('is_anywhere', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    index('standing_rules_for').on(table.agentId, table.tool).where(sql`${table.ended} IS NULL`),
    index('standing_rules_by').on(table.createdBy).where(sql`${table.ended} IS NULL`),
    index('standing_rules_new').on(sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
  ],
)

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
