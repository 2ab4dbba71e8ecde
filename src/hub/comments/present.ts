import * as z from 'zod'
import { personAnswer, presentAuthor } from '../accounts/present'
import { countAnswer, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
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
export const presentComment = presenterOf(commentAnswer).from<CommentRow>({
  content: (comment) =>
    comment.deletedAt === null
      ? comment.content
      : comment.removalReason
        ? removedText
        : '[deleted]',
  author: (comment) => (comment.deletedAt === null ? presentAuthor(comment) : null),
  activation_id: (comment) => (comment.deletedAt === null ? comment.activationId : null),
  is_deleted: (comment) => comment.deletedAt !== null,
  // An answer to an idempotent write may have been stored before there was this column.
  removal_reason: (comment) => comment.removalReason ?? null,
})

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
