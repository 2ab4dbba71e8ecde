import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { accounts } from './accounts'
import { inboxItems } from './inbox'
import { apiKeys } from './keys'

/** Browsers that get push messages. A device goes with the session that added it. */
export const pushDevices = sqliteTable(
  'push_devices',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
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

/** What an account can be reached for. */
export const pushKinds = ['mention', 'dm', 'approval', 'run'] as const
export type PushKind = (typeof pushKinds)[number]

/** What an account wants to be reached for. */
export const pushSettings = sqliteTable('push_settings', {
  accountId: text('account_id')
    .$type<AccountId>()
    .primaryKey()
    .references(() => accounts.id),
  kinds: text('kinds', { mode: 'json' }).$type<PushKind[]>().notNull(),
  /** Minutes after local midnight; null: there are no quiet hours. */
  quietFrom: integer('quiet_from'),
  quietTo: integer('quiet_to'),
  timezone: text('timezone').notNull(),
})

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
