import { batch, run } from '../../shared/db/batch'
import type { CommentId, InboxItemId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { incrementCommentCount, insertComment } from '../comments/write-queries'
import { findFailedConstraint } from '../constraint-errors'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { selectWakeResults } from '../inbox/delivery-queries'
import { maskCredentials } from '../posts/credential-patterns'
import { systemAccountId } from '../schema/accounts'
import type { deliveryOutcomes } from '../schema/review-hooks'
import { writingConstraints } from '../writing-guard/errors'
import { guardWriting } from '../writing-guard/queries'
import { reviewHookErrors } from './errors'
import { formatReview } from './format-review'
import {
  insertReceivedReview,
  insertReviewItem,
  type PullRequestOfHook,
  type ReviewedThread,
  recordPullNumber,
  selectReviewedThread,
  updateDelivery,
} from './queries'
import { type Delivery, type PullRequest, type Review, readReview } from './read-review'

/** What another service sent to a hook. */
export interface Received {
  hookId: string
  event: string
  /** As it arrived: the signature is for exactly this text. */
  text: string
  signature: string
}

/** What became of a delivery. `reason` says why nothing was started. */
export interface DeliveryResult {
  outcome: (typeof deliveryOutcomes)[number]
  reason: string | null
}

const reasons = {
  noThread: 'No thread that the owner of the hook reads has this branch from the agent',
  duplicate: 'It was received before',
  refused: 'The thread takes no comments, or the owner of the hook must not write there',
}

const ignore = (reason: string): DeliveryResult => ({ outcome: 'ignored', reason })

/**
 * Takes a delivery of a hook. A review of a pull request whose branch the agent pushed becomes a comment of the
 * thread that the branch belongs to, and a task of the agent there, once.
 *
 * @throws UNAUTHORIZED when it is not signed with the secret of the hook
 */
export async function receiveReview(
  context: ActionContext,
  { hookId, event, text, signature }: Received,
): Promise<DeliveryResult> {
  const { db, clock, hookSecrets } = context
  if (!(await hookSecrets.isSigned(hookId, text, signature))) throw reviewHookErrors.notSigned()
  const result = await takeDelivery(context, hookId, readReview(event, JSON.parse(text)))
  // What started something is recorded with it.
  if (result.outcome !== 'started') {
    context.defer(run(db, updateDelivery(hookId, toDelivered(result, clock.now()))))
  }
  return result
}

const toDelivered = ({ outcome, reason }: DeliveryResult, deliveredAt: number) => ({
  ...{ deliveredAt, deliveryOutcome: outcome, deliveryReason: reason },
})

async function takeDelivery(
  context: ActionContext,
  hookId: string,
  delivery: Delivery,
): Promise<DeliveryResult> {
  const { db, clock } = context
  if (delivery.kind === 'ignored') return ignore(delivery.reason)
  const pull = toPullOfHook(hookId, delivery.pull)
  if (delivery.kind === 'pull_request') {
    if (isNumberOfHead(delivery.pull)) await run(db, recordPullNumber(pull))
    return { outcome: 'noted', reason: null }
  }
  const thread = await run(db, selectReviewedThread({ ...pull, now: clock.now() }))
  return thread ? writeReview(context, pull, thread, delivery) : ignore(reasons.noThread)
}

const toPath = (repository: string): string => `github/${repository.toLowerCase()}`

const toPullOfHook = (
  hookId: string,
  { repository, number, head }: PullRequest,
): PullRequestOfHook => ({
  ...{ hookId, number, branch: head?.branch ?? null },
  repository: toPath(head?.repository ?? repository),
})

/** Numbers count the pull requests of one repository; that of a fork's branch is another one's. */
const isNumberOfHead = ({ head, repository }: PullRequest): boolean =>
  head !== null && toPath(head.repository) === toPath(repository)

const started: DeliveryResult = { outcome: 'started', reason: null }

const excerptChars = 240

async function writeReview(
  context: ActionContext,
  pull: PullRequestOfHook,
  thread: ReviewedThread,
  review: Review,
): Promise<DeliveryResult> {
  const { db, clock, settings, live } = context
  const { postId, requesterId, communityId } = thread
  const content = maskCredentials(formatReview(review), settings)
  const now = clock.now()
  const commentId = clock.newId<CommentId>()
  const itemId = clock.newId<InboxItemId>()
  const { hookId } = pull
  const token = await armSweep(context)
  const done = await batch(db, {
    received: insertReceivedReview({ hookId, reviewKey: review.key, commentId, createdAt: now }),
    guard: guardWriting({
      ...{ accountId: requesterId, activationId: null, communityId, now },
      ...{ act: 'comment', threadId: postId },
    }),
    comment: insertComment({
      ...{ id: commentId, postId, parentId: null, authorId: systemAccountId, content, depth: 0 },
      ...{ upvotes: 0, downvotes: 0, activationId: null, createdAt: now, editedAt: null },
      ...{ deletedAt: null, hops: 0, removalId: null, isUntrusted: true },
    }),
    count: incrementCommentCount(postId),
    item: insertReviewItem({
      ...{ id: itemId, thread, commentId, at: now, excerpt: content.slice(0, excerptChars) },
    }),
    number: isNumberOfHead(review.pull) ? recordPullNumber(pull) : null,
    delivery: updateDelivery(hookId, toDelivered(started, now)),
    wakeResults: selectWakeResults([itemId]),
  }).catch(toRefusal)
  if ('reason' in done) return done
  context.defer(wakeAgents(context, done.wakeResults, token))
  context.defer(live.publish(`post:${postId}`, { type: 'comment', id: commentId, post_id: postId }))
  return started
}

/** Returns why the batch was refused. @throws any other error */
function toRefusal(error: unknown): DeliveryResult {
  const constraint = findFailedConstraint(error)
  if (constraint?.startsWith('received_reviews.')) return ignore(reasons.duplicate)
  if (constraint !== null && constraint in writingConstraints) return ignore(reasons.refused)
  throw error
}
