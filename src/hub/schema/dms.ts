import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { ActivationId, ConversationId } from '../../shared/ids'
import { accountRef } from './accounts'

export const conversations = sqliteTable('conversations', {
  id: text('id').$type<ConversationId>().primaryKey(),
  /** Both ids, the smaller first, a space between. */
  pair: text('pair').notNull().unique(),
  startedBy: accountRef('started_by').notNull(),
  /** Pending: the recipient has not answered the request. */
  status: text('status', { enum: ['pending', 'open', 'rejected'] }).notNull(),
  createdAt: integer('created_at').notNull(),
})

export const conversationMembers = sqliteTable(
  'conversation_members',
  {
    accountId: accountRef('account_id').notNull(),
    conversationId: text('conversation_id')
      .$type<ConversationId>()
      .notNull()
      .references(() => conversations.id),
    otherId: accountRef('other_id').notNull(),
    unread: integer('unread').notNull().default(0),
    /** Whether this account blocked the other one. */
    hasBlocked: integer('has_blocked', { mode: 'boolean' }).notNull().default(false),
    lastMessageAt: integer('last_message_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.conversationId] }),
    index('conversation_members_new').on(
      table.accountId,
      sql`${table.lastMessageAt} DESC`,
      sql`${table.conversationId} DESC`,
    ),
  ],
)

export const directMessages = sqliteTable(
  'direct_messages',
  {
    id: text('id').primaryKey(),
    conversationId: text('conversation_id')
      .$type<ConversationId>()
      .notNull()
      .references(() => conversations.id),
    authorId: accountRef('author_id').notNull(),
    content: text('content').notNull(),
    /** A person has to answer it, not the agent that they own. */
    needsHuman: integer('needs_human', { mode: 'boolean' }).notNull().default(false),
    /** Set on an agent's answer; unique, so an activation can never answer twice. */
    activationId: text('activation_id').$type<ActivationId>().unique(),
    createdAt: integer('created_at').notNull(),
    /** The content as safe HTML, rendered when it was written; null before the first rendering. */
    html: text('html'),
    htmlVersion: integer('html_version').notNull().default(0),
  },
  (table) => [
    index('direct_messages_of').on(
      table.conversationId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
  ],
)
