import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId, CommentId, InboxItemId, PostId } from '../../ids'

export type InboxType =
  | 'mention'
  | 'reply'
  | 'comment'
  | 'dm'
  | 'follow'
  | 'vote'
  | 'thread_update'
  | 'approval_request'
  | 'approval_decision'
  | 'system'

export const inboxItems = sqliteTable('inbox_items', {
  id: text('id').$type<InboxItemId>().primaryKey(),
  accountId: text('account_id').$type<AccountId>().notNull(),
  type: text('type').$type<InboxType>().notNull(),
  postId: text('post_id').$type<PostId>(),
  commentId: text('comment_id').$type<CommentId>(),
  fromAccountId: text('from_account_id').$type<AccountId>(),
  content: text('content').notNull().default(''),
  createdAt: integer('created_at').notNull(),
  readAt: integer('read_at'),
  claimedBy: text('claimed_by').$type<ActivationId>(),
  refusal: text('refusal'),
  isTask: integer('is_task').notNull().default(0),
})
