import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'
import type { CommentId, CommunityId, PostId } from '../../shared/ids'
import { webhookFormats } from '../contract/webhooks'
import { accountRef } from './accounts'
import { communityRef } from './communities'

/** What a webhook can be sent, in the order of the form. */
export const webhookEvents = [
  'post.created',
  'comment.created',
  'mention.created',
  'run.finished',
  'approval.requested',
  'budget.level',
  'report.created',
] as const
export type WebhookEvent = (typeof webhookEvents)[number]

/** Addresses of other services that are sent what happens. */
export const webhooks = sqliteTable(
  'webhooks',
  {
    id: text('id').primaryKey(),
    /** Its owner, who has to be able to read what is sent. */
    accountId: accountRef('account_id').notNull(),
    /** Null: the whole hub. */
    communityId: communityRef('community_id'),
    /** What is shown of its URL, whose path can be a credential. */
    url: text('url').notNull(),
    host: text('host').notNull(),
    /** URL and secrets, encrypted by the vault. */
    sealed: text('sealed').notNull(),
    format: text('format', { enum: webhookFormats }).notNull(),
    events: text('events', { mode: 'json' }).$type<WebhookEvent[]>().notNull(),
    createdAt: integer('created_at').notNull(),
    disabledAt: integer('disabled_at'),
    /** Why the hub disabled it; null: its owner did. */
    reason: text('reason'),
    /** Failed attempts since the last successful one. */
    failures: integer('failures').notNull().default(0),
    failingSince: integer('failing_since'),
    /** Nothing is sent before; while a sender works on it, when another one takes over. */
    retryAt: integer('retry_at').notNull().default(0),
    /** The sender that works on it. */
    claim: text('claim'),
  },
  (table) => [
    index('webhooks_by_account').on(table.accountId, table.createdAt),
    index('webhooks_by_community')
      .on(table.communityId, table.createdAt)
      .where(sql`${table.communityId} IS NOT NULL`),
    index('webhooks_enabled')
      .on(sql`coalesce(${table.communityId}, '')`)
      .where(sql`${table.disabledAt} IS NULL`),
  ],
)

/**
 * What is sent outside. A row is written in the batch of what it is about; its id is the same for every attempt. Texts
 * are read when it is sent.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    seq: integer('seq').primaryKey(),
    id: text('id').notNull().unique(),
    kind: text('kind', { enum: ['webhook', 'mail'] }).notNull(),
    /** Id of the webhook, of the account or of the invitation. */
    targetId: text('target_id').notNull(),
    event: text('event').$type<WebhookEvent | 'webhook.test'>().notNull(),
    /** Names what happened: nothing is queued twice for a target. */
    key: text('key').notNull(),
    communityId: text('community_id').$type<CommunityId>(),
    postId: text('post_id').$type<PostId>(),
    commentId: text('comment_id').$type<CommentId>(),
    /** Id of the account that is mentioned, the run, the approval or the report. */
    subjectId: text('subject_id'),
    /** What is not stored elsewhere, as JSON. */
    data: text('data'),
    /** `failed`: it was given up. `withheld`: the owner may not read it any more, or it was deleted. */
    state: text('state', { enum: ['pending', 'sent', 'failed', 'withheld'] })
      .notNull()
      .default('pending'),
    attempts: integer('attempts').notNull().default(0),
    createdAt: integer('created_at').notNull(),
    nextAt: integer('next_at').notNull(),
    triedAt: integer('tried_at'),
    /** How the last attempt ended, as a sentence. */
    answer: text('answer'),
  },
  (table) => [
    unique().on(table.kind, table.targetId, table.key),
    index('outbox_due')
      .on(table.kind, table.targetId, table.nextAt, table.seq)
      .where(sql`${table.state} = 'pending'`),
    index('outbox_mail')
      .on(table.nextAt, table.seq)
      .where(sql`${table.kind} = 'mail' AND ${table.state} = 'pending'`),
    index('outbox_of').on(table.kind, table.targetId, table.seq),
    index('outbox_by_time').on(table.createdAt),
  ],
)
