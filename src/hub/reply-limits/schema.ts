import { sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const brakes = sqliteTable('brakes', {
  name: text('name').notNull(),
})
