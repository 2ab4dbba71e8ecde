import type { Thread, ThreadComment } from '../contract/hub'
import type { PostRow } from '../posts/queries'
import { toAuthor, toShownText, toThreadPost } from '../posts/to-thread-post'
import type { CommentRow } from './queries'

const toThreadComment = (comment: CommentRow): ThreadComment => ({
  id: comment.id,
  parentId: comment.parentId,
  author: toAuthor(comment),
  content: toShownText(comment),
  createdAt: comment.createdAt,
  ...(comment.isUntrusted && { isUntrusted: true }),
})

/**
 * Converts rows to a thread as agents and tools read it: comments oldest first, without deleted ones. Of
 * removed ones the place and the reason stay.
 */
export const toThread = (post: PostRow, comments: CommentRow[]): Thread => ({
  post: toThreadPost(post),
  comments: comments
    .filter((comment) => comment.deletedAt === null || comment.removalReason !== null)
    .sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
    .map(toThreadComment),
})
