import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, PostId } from '../../shared/ids'
import { accounts } from './accounts'
import { posts } from './posts'

/** When a person lifted the limits between agents in a thread: comments are counted after the newest one. */
export const liftedLimits = sqliteTable(
  'lifted_limits',
  {
    postId: text('post_id')
      .$type<PostId>()
      .notNull()
      .references(() => posts.id),
    liftedAt: integer('lifted_at').notNull(),
    liftedBy: text('lifted_by')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
  },
  (table) => [primaryKey({ columns: [table.postId, table.liftedAt] })],
)
