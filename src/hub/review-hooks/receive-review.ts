import { reviewHookLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { CommentId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { findFailedConstraint } from '../constraint-errors'
import type { Review } from '../contract/review-hooks'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { maskCredentials } from '../posts/credential-patterns'
import type { deliveryOutcomes } from '../schema/review-hooks'
import { writingConstraints } from '../writing-guard/errors'
import { reviewHookErrors } from './errors'
import { holdPart } from './held-queries'
import { guardReview, isNumberOfHead, postReview, toPullOfHook } from './post-review'
import {
  insertReceivedReview,
  type ReviewedThread,
  recordPullNumber,
  selectReviewedThread,
  updateDelivery,
} from './queries'
import { type Delivery, readReview } from './read-review'

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
 * thread that the branch belongs to, and a task of the agent there, once. A review arrives in parts: they are held
 * until it is complete, and posted by a sweep.
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
  // What starts something, at once or later, is recorded with it.
  if (result.outcome !== 'started' && result.outcome !== 'held') {
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
  const { db, clock, settings } = context
  if (delivery.kind === 'ignored') return ignore(delivery.reason)
  const pull = toPullOfHook(hookId, delivery.pull)
  const number = isNumberOfHead(delivery.pull) ? recordPullNumber(pull) : null
  if (delivery.kind === 'pull_request') {
    if (number) await run(db, number)
    return { outcome: 'noted', reason: null }
  }
  const thread = await run(db, selectReviewedThread({ ...pull, now: clock.now() }))
  if (!thread) return ignore(reasons.noThread)
  const { kind: _, ...review } = delivery
  const masked = { ...review, text: maskCredentials(review.text, settings) }
  const take = review.reviewId === null ? startRun : holdReview
  return take(context, { hookId, thread, review: masked, number }).catch(toRefusal)
}

interface Taken {
  hookId: string
  thread: ReviewedThread
  review: Review
  number: ReturnType<typeof recordPullNumber> | null
}

const held: DeliveryResult = { outcome: 'held', reason: null }
const started: DeliveryResult = { outcome: 'started', reason: null }

/** Holds a part of a review. The sweep is armed until it knows when the review is complete. */
async function holdReview(
  context: ActionContext,
  { hookId, thread, review, number }: Taken,
): Promise<DeliveryResult> {
  const { db, clock, scheduler } = context
  const createdAt = clock.now()
  const commentId = clock.newId<CommentId>()
  const token = await armSweep(context)
  await batch(db, {
    part: holdPart({ hookId, review, commentId, createdAt }),
    guard: guardReview(thread, createdAt),
    delivery: updateDelivery(hookId, toDelivered(held, createdAt)),
    number,
  })
  const plan = async () => {
    await scheduler.sweepAt(createdAt + reviewHookLimits.quietMs)
    if (token !== null) await scheduler.disarm(token, null)
  }
  context.defer(plan())
  return held
}

/** Posts a comment on the pull request, which is whole. */
async function startRun(
  context: ActionContext,
  { hookId, thread, review, number }: Taken,
): Promise<DeliveryResult> {
  const { clock } = context
  const createdAt = clock.now()
  const commentId = clock.newId<CommentId>()
  const { key } = review
  const token = await armSweep(context)
  const woken = await postReview(
    context,
    { hookId, thread, parts: [review], commentId, runKey: key },
    {
      received: insertReceivedReview({ hookId, reviewKey: key, commentId, createdAt }),
      delivery: updateDelivery(hookId, toDelivered(started, createdAt)),
      number,
    },
  )
  context.defer(wakeAgents(context, woken, token))
  return started
}

/** Returns why the batch was refused. @throws any other error */
function toRefusal(error: unknown): DeliveryResult {
  const constraint = findFailedConstraint(error)
  if (constraint?.startsWith('received_reviews.')) return ignore(reasons.duplicate)
  if (constraint !== null && constraint in writingConstraints) return ignore(reasons.refused)
  throw error
}
