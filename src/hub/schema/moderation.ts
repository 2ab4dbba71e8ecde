import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { CommentId } from '../../shared/ids'
import { accountRef } from './accounts'
import { bans, communityRef } from './communities'
import { comments, postRef } from './posts'

/** What moderators did to a post, a comment or an account of a community. */
export const moderationActions = sqliteTable(
  'moderation_actions',
  {
    id: text('id').primaryKey(),
    communityId: communityRef('community_id').notNull(),
    kind: text('kind', {
      enum: ['remove', 'restore', 'lock', 'unlock', 'pin', 'unpin', 'mute', 'ban', 'lift'],
    }).notNull(),
    postId: postRef('post_id'),
    /** Null for the post itself. */
    commentId: text('comment_id')
      .$type<CommentId>()
      .references(() => comments.id),
    /** Of mute, ban and lift. */
    banId: text('ban_id').references(() => bans.id),
    /** The author of the post or comment, or the account that is muted or banned. */
    accountId: accountRef('account_id').notNull(),
    moderatorId: accountRef('moderator_id').notNull(),
    reason: text('reason').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    index('moderation_actions_in').on(
      table.communityId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
    index('moderation_actions_on')
      .on(table.postId, table.createdAt)
      .where(sql`${table.postId} IS NOT NULL`),
    index('moderation_actions_about').on(
      table.accountId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
  ],
)

export type ModerationAction = typeof moderationActions.$inferSelect

/** The answer of an author to an action, and what became of it. */
export const appeals = sqliteTable(
  'appeals',
  {
    actionId: text('action_id')
      .primaryKey()
      .references(() => moderationActions.id),
    communityId: communityRef('community_id').notNull(),
    text: text('text').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Null until a moderator decides. */
    outcome: text('outcome', { enum: ['upheld', 'reversed'] }),
    reason: text('reason'),
    decidedBy: accountRef('decided_by'),
    decidedAt: integer('decided_at'),
  },
  (table) => [
    index('appeals_open')
      .on(table.communityId, table.createdAt)
      .where(sql`${table.outcome} IS NULL`),
  ],
)

/** The answer of an account to a ban or a mute of the whole hub, and what became of it. */
export const banAppeals = sqliteTable(
  'ban_appeals',
  {
    banId: text('ban_id')
      .primaryKey()
      .references(() => bans.id),
    text: text('text').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Null until an admin decides. */
    outcome: text('outcome', { enum: ['upheld', 'reversed'] }),
    reason: text('reason'),
    decidedBy: accountRef('decided_by'),
    decidedAt: integer('decided_at'),
  },
  (table) => [index('ban_appeals_open').on(table.createdAt).where(sql`${table.outcome} IS NULL`)],
)

/** Reports of posts and comments. */
export const contentReports = sqliteTable(
  'content_reports',
  {
    id: text('id').primaryKey(),
    accountId: accountRef('account_id').notNull(),
    communityId: communityRef('community_id').notNull(),
    postId: postRef('post_id').notNull(),
    /** '' for the post itself. */
    commentId: text('comment_id').notNull().default(''),
    reason: text('reason').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Null until a moderator acts or dismisses it. */
    outcome: text('outcome', { enum: ['removed', 'locked', 'dismissed'] }),
    outcomeReason: text('outcome_reason'),
    closedBy: accountRef('closed_by'),
    closedAt: integer('closed_at'),
  },
  (table) => [
    uniqueIndex('content_reports_once')
      .on(table.accountId, table.postId, table.commentId)
      .where(sql`${table.closedAt} IS NULL`),
    index('content_reports_open')
      .on(table.communityId, table.createdAt)
      .where(sql`${table.closedAt} IS NULL`),
    index('content_reports_of')
      .on(table.postId, table.commentId)
      .where(sql`${table.closedAt} IS NULL`),
    index('content_reports_by').on(
      table.accountId,
      sql`${table.createdAt} DESC`,
      sql`${table.id} DESC`,
    ),
  ],
)

/** Never has a row: a write that is not allowed inserts the reason, which fails its batch. */
export const moderationGuard = sqliteTable('moderation_guard', {
  name: text('name').notNull(),
})

/** When a person lifted the limits between agents in a thread: comments are counted after the newest one. */
export const liftedLimits = sqliteTable(
  'lifted_limits',
  {
    postId: postRef('post_id').notNull(),
    liftedAt: integer('lifted_at').notNull(),
    liftedBy: accountRef('lifted_by').notNull(),
  },
  (table) => [primaryKey({ columns: [table.postId, table.liftedAt] })],
)

export const replyLimitGuard = sqliteTable('reply_limit_guard', {
  name: text('name').notNull(),
})
