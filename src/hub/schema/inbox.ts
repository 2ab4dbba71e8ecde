import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type {
  AccountId,
  ActivationId,
  CommentId,
  ConversationId,
  InboxItemId,
  PostId,
} from '../../shared/ids'
import { accountRef, apiKeys } from './accounts'
import { postRef } from './posts'

export const inboxItems = sqliteTable(
  'inbox_items',
  {
    id: text('id').$type<InboxItemId>().primaryKey(),
    accountId: accountRef('account_id').notNull(),
    /** Task: work given by hand or by a schedule; its words are the content. */
    type: text('type', {
      enum: [
        'mention',
        'reply',
        'comment',
        'dm',
        'follow',
        'vote',
        'thread_update',
        'approval_request',
        'approval_decision',
        'system',
        'task',
      ],
    }).notNull(),
    postId: text('post_id').$type<PostId>(),
    commentId: text('comment_id').$type<CommentId>(),
    fromAccountId: text('from_account_id').$type<AccountId>(),
    content: text('content').notNull().default(''),
    createdAt: integer('created_at').notNull(),
    readAt: integer('read_at'),
    /** The activation that works on it. */
    claimedBy: text('claimed_by').$type<ActivationId>(),
    /** Why an agent's reply to it was not posted. */
    refusal: text('refusal'),
    /** Whether it wakes a hosted agent. */
    isTask: integer('is_task', { mode: 'boolean' }).notNull().default(false),
    /** Of a task: 'manual' or 'scheduled'. */
    task: text('task'),
    /** Of a task: the model to use this once, in place of the definition's. */
    model: text('model'),
    /** The activation it is about: of an approval request, a decision, an answer to a task. */
    activationId: text('activation_id').$type<ActivationId>(),
    approvalId: text('approval_id'),
    hops: integer('hops').notNull().default(0),
    priority: text('priority'),
    conversationId: text('conversation_id').$type<ConversationId>(),
    scheduleKey: text('schedule_key'),
    /** Of a scheduled task: who saved the schedule, and gets the final words of the run. */
    savedBy: text('saved_by').$type<AccountId>(),
    /** The accounts that it acts for; empty: the hub itself; null: `fromAccountId`. */
    requesters: text('requesters', { mode: 'json' }).$type<AccountId[]>(),
    /** Its text is of a run that had read text by a guest or from outside. */
    isUntrusted: integer('is_untrusted', { mode: 'boolean' }).notNull().default(false),
    /**
     * Of a comment that names nobody: `follow_up` continues a conversation, `moderation` is for the run that
     * works in the thread. Null for other items.
     */
    cause: text('cause', { enum: ['follow_up', 'moderation'] }),
    /** When a run took it that was running already; null for an item that the run started with. */
    joinedAt: integer('joined_at'),
    /** The comment whose stop withdrew it while it waited. */
    withdrawnBy: text('withdrawn_by').$type<CommentId>(),
    /** What the owner of a trigger asks in it: the content, or the post, is data of another service then. */
    request: text('request'),
  },
  (table) => [
    index('inbox_scheduled')
      .on(table.accountId, table.scheduleKey)
      .where(
        sql`${table.scheduleKey} IS NOT NULL AND ${table.readAt} IS NULL AND ${table.claimedBy} IS NULL`,
      ),
    index('inbox_of_conversation')
      .on(table.conversationId, table.accountId)
      .where(sql`${table.conversationId} IS NOT NULL`),
    uniqueIndex('inbox_votes')
      .on(table.accountId, table.postId, sql`coalesce(${table.commentId}, '')`)
      .where(sql`${table.type} = 'vote' AND ${table.readAt} IS NULL`),
    index('inbox_refused')
      .on(table.postId, table.createdAt)
      .where(
        sql`${table.isTask} = 0 AND ${table.refusal} IS NOT NULL AND ${table.type} = 'mention'`,
      ),
    index('inbox_withdrawn').on(table.postId).where(sql`${table.withdrawnBy} IS NOT NULL`),
    index('inbox_of_activation')
      .on(table.activationId)
      .where(sql`${table.activationId} IS NOT NULL`),
    index('inbox_of_approval').on(table.approvalId).where(sql`${table.approvalId} IS NOT NULL`),
    index('inbox_claimed').on(table.claimedBy).where(sql`${table.claimedBy} IS NOT NULL`),
    index('inbox_waiting')
      .on(table.createdAt, table.accountId)
      .where(sql`${table.readAt} IS NULL AND ${table.isTask} = 1 AND ${table.claimedBy} IS NULL`),
    index('inbox_of').on(table.accountId, sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
    index('inbox_unread')
      .on(table.accountId, table.createdAt, table.id)
      .where(sql`${table.readAt} IS NULL`),
  ],
)

/** Runs that answered, or wrote, a text which was edited, deleted or removed since, until their agent has deleted its words. */
export const changedRequests = sqliteTable(
  'changed_requests',
  {
    agentId: text('agent_id').$type<AccountId>().notNull(),
    activationId: text('activation_id').$type<ActivationId>().notNull(),
    postId: text('post_id').$type<PostId>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.activationId] })],
)

/** Type of an inbox item. */
export type InboxType = (typeof inboxItems.$inferSelect)['type']

/** Threads that an agent follows no longer, until somebody mentions it there again. */
export const endedFollowings = sqliteTable(
  'ended_followings',
  {
    postId: postRef('post_id').notNull(),
    agentId: accountRef('agent_id').notNull(),
    endedAt: integer('ended_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.postId, table.agentId] })],
)

/** Browsers that get push messages. A device goes with the session that added it. */
export const pushDevices = sqliteTable(
  'push_devices',
  {
    id: text('id').primaryKey(),
    accountId: accountRef('account_id').notNull(),
    sessionId: text('session_id')
      .notNull()
      .references(() => apiKeys.id, { onDelete: 'cascade' }),
    /** The address at the browser's push service. */
    endpoint: text('endpoint').notNull().unique(),
    /** The browser's public key, base64url. */
    p256dh: text('p256dh').notNull(),
    /** A secret that the browser shares with the hub, base64url. */
    auth: text('auth').notNull(),
    /** The hub's public key that the browser accepts messages from, base64url. */
    serverKey: text('server_key').notNull(),
    label: text('label').notNull(),
    createdAt: integer('created_at').notNull(),
    lastSentAt: integer('last_sent_at'),
    /** Why the last message was not sent; null: it was. */
    failure: text('failure'),
  },
  (table) => [
    index('push_devices_by_account').on(table.accountId),
    index('push_devices_by_session').on(table.sessionId),
  ],
)

export type PushDevice = typeof pushDevices.$inferSelect

/** What an inbox item can notify its account of, in the order of the form. */
export const notificationKinds = ['mention', 'reply', 'dm', 'approval', 'run'] as const
export type NotificationKind = (typeof notificationKinds)[number]

/** How an account can be notified. What has no channel is in the inbox only. */
export const channels = ['push', 'mail', 'digest'] as const
export type Channel = (typeof channels)[number]

/** The channels of each kind. New posts of what the account follows are in the digest or nowhere. */
export type NotificationChoices = Record<NotificationKind, Channel[]> & { post: 'digest'[] }

/** How an account wants to be notified. Without a row the defaults hold. */
export const notificationSettings = sqliteTable(
  'notification_settings',
  {
    accountId: accountRef('account_id').primaryKey(),
    choices: text('choices', { mode: 'json' }).$type<NotificationChoices>().notNull(),
    /** Minutes after local midnight; null: there are no quiet hours. */
    quietFrom: integer('quiet_from'),
    quietTo: integer('quiet_to'),
    /** IANA name: of the quiet hours and of the digest. */
    timezone: text('timezone').notNull(),
    /** Hour of the digest on the clocks of its reader. */
    digestHour: integer('digest_hour').notNull(),
    /** When the next digest is due; null: none is. */
    digestAt: integer('digest_at'),
    /** Up to when the last digest reached. */
    digestedAt: integer('digested_at').notNull(),
  },
  (table) => [
    index('notification_settings_by_digest')
      .on(table.digestAt)
      .where(sql`${table.digestAt} IS NOT NULL`),
  ],
)

/** Messages to send. A row is written in the batch of its inbox item. */
export const pushQueue = sqliteTable(
  'push_queue',
  {
    deviceId: text('device_id')
      .notNull()
      .references(() => pushDevices.id, { onDelete: 'cascade' }),
    itemId: text('item_id')
      .$type<InboxItemId>()
      .notNull()
      .references(() => inboxItems.id, { onDelete: 'cascade' }),
    dueAt: integer('due_at').notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** The sender that works on it. */
    claim: text('claim'),
  },
  (table) => [
    primaryKey({ columns: [table.deviceId, table.itemId] }),
    index('push_queue_by_due').on(table.dueAt),
    index('push_queue_by_claim').on(table.claim).where(sql`${table.claim} IS NOT NULL`),
    index('push_queue_by_item').on(table.itemId),
  ],
)
