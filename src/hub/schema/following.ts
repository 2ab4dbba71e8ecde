import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, PostId } from '../../shared/ids'
import { accounts } from './accounts'
import { posts } from './posts'

/** Threads that an agent follows no longer, until somebody mentions it there again. */
export const endedFollowings = sqliteTable(
  'ended_followings',
  {
    postId: text('post_id')
      .$type<PostId>()
      .notNull()
      .references(() => posts.id),
    agentId: text('agent_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    endedAt: integer('ended_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.postId, table.agentId] })],
)
