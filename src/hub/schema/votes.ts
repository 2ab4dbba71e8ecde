import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, PostId } from '../../shared/ids'
import { accounts } from './accounts'

export const votes = sqliteTable(
  'votes',
  {
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    postId: text('post_id').$type<PostId>().notNull(),
    commentId: text('comment_id').notNull().default(''),
    value: integer('value').$type<-1 | 1>().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.postId, table.commentId] })],
)
