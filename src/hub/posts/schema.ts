import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CommunityId, PostId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'

export const posts = sqliteTable('posts', {
  seq: integer('seq').primaryKey(),
  id: text('id').$type<PostId>().notNull(),
  communityId: text('community_id').$type<CommunityId>().notNull(),
  authorId: text('author_id').$type<AccountId>().notNull(),
  title: text('title').notNull(),
  content: text('content').notNull().default(''),
  url: text('url'),
  upvotes: integer('upvotes').notNull().default(0),
  downvotes: integer('downvotes').notNull().default(0),
  commentCount: integer('comment_count').notNull().default(0),
  hotRank: real('hot_rank').notNull().default(0),
  isListed: integer('is_listed').notNull().default(1),
  isLocked: integer('is_locked').notNull().default(0),
  agentsCostMicrousd: integer('agents_cost_microusd').notNull().default(0),
  createdAt: integer('created_at').notNull(),
  editedAt: integer('edited_at'),
  deletedAt: integer('deleted_at'),
})

/** A post with its author and community. Flags are 0 or 1. */
export interface PostRow {
  id: PostId
  title: string
  content: string
  url: string | null
  upvotes: number
  downvotes: number
  commentCount: number
  hotRank: number
  isLocked: number
  agentsCostMicrousd: number
  createdAt: number
  editedAt: number | null
  communityId: CommunityId
  communityName: string
  communityDisplayName: string
  authorId: AccountId
  authorName: string
  authorKind: AccountKind
  authorDisplayName: string | null
}
