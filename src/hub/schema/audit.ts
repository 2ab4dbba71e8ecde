import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'
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

/** What admins and moderators did; append-only. */
export const adminLog = sqliteTable(
  'admin_log',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').$type<AccountId>().notNull(),
    /** Such as `role.change`. */
    action: text('action').notNull(),
    targetType: text('target_type').notNull(),
    targetId: text('target_id').notNull(),
    reason: text('reason'),
    /** The changed settings before and after, as JSON: no secret, and no text of a user. */
    before: text('before', { mode: 'json' }).$type<Record<string, unknown>>(),
    after: text('after', { mode: 'json' }).$type<Record<string, unknown>>(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    index('admin_log_by_time').on(sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
    index('admin_log_by_account').on(
      table.accountId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
    index('admin_log_by_target').on(
      table.targetId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
  ],
)

/** Kinds of records that are moved to object storage. */
const archiveKinds = ['traces', 'audit', 'usage'] as const
export type ArchiveKind = (typeof archiveKinds)[number]

/** Kinds of records that do not stay in the database. Reviews that were received are deleted. */
const oldKinds = [...archiveKinds, 'reviews'] as const
export type OldKind = (typeof oldKinds)[number]

/** Files in object storage that hold old records. */
export const archiveFiles = sqliteTable(
  'archive_files',
  {
    key: text('key').primaryKey(),
    kind: text('kind', { enum: archiveKinds }).notNull(),
    /** Days since the Unix epoch (UTC). */
    day: integer('day').notNull(),
    firstId: text('first_id').notNull(),
    records: integer('records').notNull(),
    bytes: integer('bytes').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    unique().on(table.kind, table.firstId),
    index('archive_files_by_day').on(
      table.kind,
      sql`${table.day} DESC`,
      sql`${table.firstId} DESC`,
    ),
  ],
)

/** How far each kind of record is archived or deleted. */
export const archiveProgress = sqliteTable(
  'archive_progress',
  {
    kind: text('kind', { enum: oldKinds }).primaryKey(),
    /** The first day whose traces stayed when all that was old was archived. */
    throughDay: integer('through_day').notNull().default(0),
    /** The last record that was archived. */
    afterAt: integer('after_at').notNull().default(0),
    afterId: text('after_id').notNull().default(''),
  },
  (table) => [index('archive_progress_by_day').on(table.throughDay)],
)
