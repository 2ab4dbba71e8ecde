import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, PostId } from '../../shared/ids'

export const mentions = sqliteTable(
  'mentions',
  {
    postId: text('post_id').$type<PostId>().notNull(),
    /** '' when the post itself mentions, so that the key has no nulls. */
    commentId: text('comment_id').notNull().default(''),
    accountId: text('account_id').$type<AccountId>().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.postId, table.commentId, table.accountId] })],
)
