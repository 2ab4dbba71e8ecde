import { sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const replyLimitGuard = sqliteTable('reply_limit_guard', {
  name: text('name').notNull(),
})
