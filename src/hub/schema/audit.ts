import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { AuditEntry } from '../contract/hub'

export const auditLog = sqliteTable(
  'audit_log',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').$type<AccountId>().notNull(),
    activationId: text('activation_id').$type<ActivationId>(),
    callId: text('call_id').notNull(),
    tool: text('tool').notNull(),
    grant: text('grant').notNull(),
    argumentsHash: text('arguments_hash').notNull(),
    decision: text('decision').$type<AuditEntry['decision']>().notNull(),
    outcome: text('outcome').$type<NonNullable<AuditEntry['outcome']>>(),
    durationMs: integer('duration_ms'),
    resultBytes: integer('result_bytes'),
    createdAt: integer('created_at').notNull(),
    arguments: text('arguments'),
    reason: text('reason'),
    /** The standing rule that allowed the call. */
    ruleId: text('rule_id'),
  },
  (table) => [
    index('audit_by_tool').on(table.tool, sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
    index('audit_by_time').on(sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
    index('audit_by_activation')
      .on(table.activationId)
      .where(sql`${table.activationId} IS NOT NULL`),
    index('audit_by_rule')
      .on(table.ruleId, table.createdAt)
      .where(sql`${table.ruleId} IS NOT NULL`),
    index('audit_by_account').on(table.accountId, sql`${table.createdAt} DESC`),
  ],
)
