import type { CommentRow } from '../comments/queries'
import type { InboxEntry, Person, PostSummary, Thread } from '../contract/hub'
import type { InboxRow } from '../inbox/queries'
import type { PostRow } from '../posts/queries'

const toAuthor = (row: PostRow | CommentRow): Person => ({
  id: row.authorId,
  name: row.authorName,
  kind: row.authorKind,
  ...(row.isFromGuest && { isGuest: true }),
})

export const toPostSummary = (post: PostRow): PostSummary => ({
  id: post.id,
  title: post.title,
  content: post.content,
  url: post.url,
  community: post.communityName,
  author: toAuthor(post),
  score: post.upvotes - post.downvotes,
  commentCount: post.commentCount,
  createdAt: post.createdAt,
})

/** Returns the text, or a placeholder with the reason for what a moderator removed. */
const toText = ({ content, removalReason }: PostRow | CommentRow): string =>
  removalReason === null ? content : `[removed by a moderator: ${removalReason}]`

/**
 * Converts rows to a thread, comments oldest first, without deleted comments. Of removed ones the place
 * and the reason stay.
 */
export const toThread = (post: PostRow, comments: CommentRow[]): Thread => ({
  post: {
    id: post.id,
    community: post.communityName,
    author: toAuthor(post),
    title: post.title,
    content: toText(post),
    url: post.url,
    createdAt: post.createdAt,
    isLocked: post.isLocked,
  },
  comments: comments
    .filter((comment) => comment.deletedAt === null || comment.removalReason !== null)
    .sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
    .map((comment) => ({
      id: comment.id,
      parentId: comment.parentId,
      author: toAuthor(comment),
      content: toText(comment),
      createdAt: comment.createdAt,
    })),
  commentCount: post.commentCount,
})

export const toInboxEntry = (item: InboxRow): InboxEntry => {
  const { fromId: id, fromName: name, fromKind: kind, isFromGuest } = item
  return {
    id: item.id,
    type: item.type,
    from: id && name && kind ? { id, name, kind, ...(isFromGuest && { isGuest: true }) } : null,
    postId: item.postId,
    commentId: item.commentId,
    content: item.content,
    createdAt: item.createdAt,
    isRead: item.readAt !== null,
  }
}
