import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId } from '../../shared/ids'

export const communities = sqliteTable('communities', {
  seq: integer('seq').primaryKey(),
  id: text('id').$type<CommunityId>().notNull(),
  name: text('name').notNull(),
  displayName: text('display_name').notNull(),
  description: text('description').notNull().default(''),
  createdBy: text('created_by').$type<AccountId>(),
  /** 1 when its posts stay out of the hub's feed. */
  isMuted: integer('is_muted').notNull().default(0),
  postCount: integer('post_count').notNull().default(0),
  createdAt: integer('created_at').notNull(),
})

export type Community = typeof communities.$inferSelect
