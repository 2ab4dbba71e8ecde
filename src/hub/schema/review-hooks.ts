import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import type { Review } from '../contract/review-hooks'
import { accounts } from './accounts'
import { posts } from './posts'

/** Branches that runs of coding agents pushed, each with the thread that it belongs to. */
export const pushedBranches = sqliteTable(
  'pushed_branches',
  {
    agentId: text('agent_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    /** `service/owner/name`, in lower case. */
    repository: text('repository').notNull(),
    /** Without `refs/heads/`. */
    branch: text('branch').notNull(),
    postId: text('post_id')
      .$type<PostId>()
      .notNull()
      .references(() => posts.id),
    pushedAt: integer('pushed_at').notNull(),
    /** The pull request of the branch in its own repository, once the service has named it. */
    pullNumber: integer('pull_number'),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.repository, table.branch] })],
)

/** What becomes of a delivery; noted: it says which branch a pull request has, and starts nothing. */
export const deliveryOutcomes = ['started', 'held', 'noted', 'ignored'] as const

/** Addresses that take reviews of pull requests for an agent. */
export const reviewHooks = sqliteTable(
  'review_hooks',
  {
    id: text('id').primaryKey(),
    agentId: text('agent_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    /** Who asks for what a review starts. */
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    createdAt: integer('created_at').notNull(),
    /** The last delivery that was signed; null: none was. */
    deliveredAt: integer('delivered_at'),
    deliveryOutcome: text('delivery_outcome', { enum: deliveryOutcomes }),
    /** Why it was ignored. */
    deliveryReason: text('delivery_reason'),
  },
  (table) => [
    index('review_hooks_by_account').on(table.accountId, table.createdAt),
    index('review_hooks_by_agent').on(table.agentId),
  ],
)

/** Reviews that were taken, so that none is taken twice. */
export const receivedReviews = sqliteTable(
  'received_reviews',
  {
    hookId: text('hook_id').notNull(),
    /** What was received and its id at the service, such as `review:7`. */
    reviewKey: text('review_key').notNull(),
    /** The comment that shows it, or will: what is held under the same id becomes one comment. */
    commentId: text('comment_id').$type<CommentId>().notNull(),
    createdAt: integer('created_at').notNull(),
    /** What was said, while it waits for the rest of its review; null once that was posted. */
    part: text('part', { mode: 'json' }).$type<Review>(),
  },
  (table) => [
    primaryKey({ columns: [table.hookId, table.reviewKey] }),
    index('received_reviews_held').on(table.commentId).where(sql`${table.part} IS NOT NULL`),
  ],
)
