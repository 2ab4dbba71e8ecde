import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { ApprovalReason } from '../contract/approvals'
import { accounts } from './accounts'

export const approvals = sqliteTable(
  'approvals',
  {
    /** Activation and call, as '<activation>:<call>'; for an outside caller an id of its own. */
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
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
