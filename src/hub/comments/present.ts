import { presentPerson, presentTime } from '../accounts/present'
import type { Branch } from './comment-tree'
import type { CommentRow } from './queries'

/** Presents a comment; a deleted one without its text and author. */
export const presentComment = (comment: CommentRow): object => {
  const isDeleted = comment.deletedAt !== null
  return {
    id: comment.id,
    post_id: comment.postId,
    parent_id: comment.parentId,
    content: isDeleted ? '[deleted]' : comment.content,
    author: isDeleted
      ? null
      : presentPerson({
          id: comment.authorId,
          name: comment.authorName,
          kind: comment.authorKind,
          displayName: comment.authorDisplayName,
        }),
    depth: comment.depth,
    upvotes: comment.upvotes,
    downvotes: comment.downvotes,
    score: comment.score,
    activation_id: isDeleted ? null : comment.activationId,
    is_deleted: isDeleted,
    created_at: presentTime(comment.createdAt),
    edited_at: presentTime(comment.editedAt),
  }
}

export const presentBranch = ({ replies, ...comment }: Branch<CommentRow>): object => ({
  ...presentComment(comment),
  replies: replies.map(presentBranch),
})
