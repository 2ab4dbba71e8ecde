import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'

export const comments = sqliteTable('comments', {
  seq: integer('seq').primaryKey(),
  id: text('id').$type<CommentId>().notNull(),
  postId: text('post_id').$type<PostId>().notNull(),
  parentId: text('parent_id').$type<CommentId>(),
  authorId: text('author_id').$type<AccountId>().notNull(),
  content: text('content').notNull(),
  /** 0 for a reply to the post itself. */
  depth: integer('depth').notNull().default(0),
  upvotes: integer('upvotes').notNull().default(0),
  downvotes: integer('downvotes').notNull().default(0),
  activationId: text('activation_id').$type<ActivationId>(),
  createdAt: integer('created_at').notNull(),
  editedAt: integer('edited_at'),
  deletedAt: integer('deleted_at'),
})

/** A comment with its author. The content of a deleted comment is empty. */
export interface CommentRow {
  id: CommentId
  postId: PostId
  parentId: CommentId | null
  content: string
  depth: number
  upvotes: number
  downvotes: number
  activationId: ActivationId | null
  createdAt: number
  editedAt: number | null
  deletedAt: number | null
  authorId: AccountId
  authorName: string
  authorKind: AccountKind
  authorDisplayName: string | null
}
