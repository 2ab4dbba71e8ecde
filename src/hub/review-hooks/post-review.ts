import { batch, type Statements } from '../../shared/db/batch'
import type { CommentId, InboxItemId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { incrementCommentCount, insertComment } from '../comments/write-queries'
import type { PullRequest, Review } from '../contract/review-hooks'
import { selectWakeResults, type WakeResult } from '../inbox/delivery-queries'
import { renderText } from '../markdown/render-text'
import { maskCredentials } from '../posts/credential-patterns'
import { systemAccountId } from '../schema/accounts'
import { guardWriting } from '../writing-guard/queries'
import { formatReview } from './format-review'
import { insertReviewItem, type PullRequestOfHook, type ReviewedThread } from './queries'

const toPath = (repository: string): string => `github/${repository.toLowerCase()}`

export const toPullOfHook = (
  hookId: string,
  { repository, number, head }: PullRequest,
): PullRequestOfHook => ({
  ...{ hookId, number, branch: head?.branch ?? null },
  repository: toPath(head?.repository ?? repository),
})

/** Numbers count the pull requests of one repository; that of a fork's branch is another one's. */
export const isNumberOfHead = ({ head, repository }: PullRequest): boolean =>
  head !== null && toPath(head.repository) === toPath(repository)

/** What is posted, and where. */
interface Posting {
  hookId: string
  thread: ReviewedThread
  parts: readonly [Review, ...Review[]]
  commentId: CommentId
  /** The key of what was received for which the comment may start a run. */
  runKey: string
}

/** Fails a batch when the owner of the hook must not write in the thread. */
export const guardReview = ({ requesterId, communityId, postId }: ReviewedThread, now: number) =>
  guardWriting({
    ...{ accountId: requesterId, activationId: null, communityId, now },
    ...{ act: 'comment', threadId: postId },
  })

/**
 * Writes parts of a review as comments of the thread, which the agent answers in one run. Returns whom it wakes.
 *
 * @param statements of the same batch, which record what was received
 * @throws what the batch fails with, the constraints of the guard among it
 */
export async function postReview(
  context: ActionContext,
  { hookId, thread, parts, commentId, runKey }: Posting,
  statements: Statements,
): Promise<WakeResult[]> {
  const { db, clock, settings, live } = context
  const { postId } = thread
  const now = clock.now()
  const comments = formatReview(parts).map((text, at) => ({
    id: at === 0 ? commentId : clock.newId<CommentId>(),
    itemId: clock.newId<InboxItemId>(),
    content: maskCredentials(text, settings),
  }))
  const cause = { hookId, reviewKey: runKey, commentId }
  const { wakeResults } = await batch(db, {
    ...statements,
    guard: guardReview(thread, now),
    comments: comments.map(({ id, content }) =>
      insertComment({
        ...{ id, postId, parentId: null, authorId: systemAccountId, content, depth: 0 },
        ...{ upvotes: 0, downvotes: 0, activationId: null, createdAt: now, editedAt: null },
        ...renderText('comments', { id, content }).columns,
        ...{ deletedAt: null, hops: 0, removalId: null, isUntrusted: true },
      }),
    ),
    count: comments.map(() => incrementCommentCount(postId)),
    items: comments.map(({ id, itemId }) =>
      insertReviewItem({ id: itemId, thread, commentId: id, at: now, cause }),
    ),
    wakeResults: selectWakeResults(
      comments.map(({ itemId }) => itemId),
      now,
    ),
  })
  for (const { id } of comments) {
    context.defer(live.publish(`post:${postId}`, { type: 'comment', id, post_id: postId }))
  }
  return wakeResults
}
