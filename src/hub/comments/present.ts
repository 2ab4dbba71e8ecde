import * as z from 'zod'
import { personAnswer, presentPerson } from '../accounts/present'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import type { Branch } from './comment-tree'
import type { CommentRow } from './queries'

const removedText = '[removed]'

export const commentAnswer = z
  .object({
    id: z.string(),
    post_id: z.string(),
    parent_id: z.string().nullable().describe('Null for a reply to the post.'),
    content: z.string().describe('Markdown; `[deleted]` or `[removed]` for one that is gone.'),
    author: personAnswer.nullable().describe('Null for a deleted comment.'),
    depth: countAnswer.describe('0 for a reply to the post.'),
    upvotes: countAnswer,
    downvotes: countAnswer,
    score: z.int().describe('Upvotes minus downvotes.'),
    activation_id: z.string().nullable().describe('The run of the agent that wrote the comment.'),
    is_deleted: z.boolean(),
    removal_reason: z
      .string()
      .nullable()
      .describe('Why a moderator removed the comment; null otherwise.'),
    created_at: timeAnswer,
    edited_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Comment' })

/** Presents a comment; a deleted one without its text and author. */
export const presentComment = (comment: CommentRow): z.input<typeof commentAnswer> => {
  const isDeleted = comment.deletedAt !== null
  return {
    id: comment.id,
    post_id: comment.postId,
    parent_id: comment.parentId,
    content: isDeleted ? (comment.removalReason ? removedText : '[deleted]') : comment.content,
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
    removal_reason: comment.removalReason ?? null,
    created_at: presentTime(comment.createdAt),
    edited_at: presentTime(comment.editedAt),
  }
}

interface BranchAnswer extends z.input<typeof commentAnswer> {
  replies: BranchAnswer[]
}

/** A comment with its replies. */
export const branchAnswer: z.ZodType<BranchAnswer, BranchAnswer> = commentAnswer
  .extend({ replies: z.lazy(() => z.array(branchAnswer)) })
  .meta({ id: 'CommentTree' })

export const presentBranch = ({ replies, ...comment }: Branch<CommentRow>): BranchAnswer => ({
  ...presentComment(comment),
  replies: replies.map(presentBranch),
})
