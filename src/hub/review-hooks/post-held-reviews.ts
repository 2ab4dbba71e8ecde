import { isWaitOver } from '../../shared/bounded-wait'
import { reviewHookLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { AccountId, CommentId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { findFailedConstraint } from '../constraint-errors'
import type { Review } from '../contract/review-hooks'
import type { WakeResult } from '../inbox/delivery-queries'
import { writingConstraints } from '../writing-guard/errors'
import {
  deleteHeldParts,
  type HeldReview,
  markPosted,
  recordRun,
  selectHeldParts,
  selectHeldReviews,
  toRunKey,
} from './held-queries'
import { postReview, toPullOfHook } from './post-review'
import { selectReviewedThread } from './queries'

/** The agents to wake for what was posted, and when the next review is complete; null when none is held. */
export interface PostedReviews {
  wake: AccountId[]
  nextAt: number | null
}

/**
 * Posts the reviews that are complete, each as one comment that starts one run. What arrives after that of the same
 * review becomes a comment that starts none.
 *
 * @param held from `selectHeldReviews`
 */
export async function postHeldReviews(
  context: ActionContext,
  held: readonly HeldReview[],
  now: number,
): Promise<PostedReviews> {
  const due = held.filter(({ dueAt }) => isWaitOver(dueAt, now, reviewHookLimits.heldMs))
  if (due.length === 0) return { wake: [], nextAt: findNext(held) }
  const woken: WakeResult[] = []
  for (const each of due) {
    const found = await postHeldReview(context, each).catch((error: unknown) => {
      context.log.error('failed to post a review', { error })
      return []
    })
    woken.push(...found)
  }
  const nextAt = findNext(await run(context.db, selectHeldReviews()))
  const working = woken.filter(({ isWorkingThere }) => isWorkingThere)
  for (const { accountId } of working) context.defer(context.agents.wake(accountId, true))
  return {
    wake: woken.flatMap((each) => (each.isWorkingThere ? [] : [each.accountId])),
    nextAt: nextAt && Math.max(nextAt, now + reviewHookLimits.retryMs),
  }
}

const findNext = (held: readonly HeldReview[]): number | null =>
  held.length === 0 ? null : Math.min(...held.map(({ dueAt }) => dueAt))

async function postHeldReview(
  context: ActionContext,
  { hookId, commentId }: HeldReview,
): Promise<WakeResult[]> {
  const { db, clock } = context
  const parts = takeParts(await run(db, selectHeldParts(commentId)))
  const [first, ...rest] = parts
  // Another sweep has posted it.
  if (!first) return []
  const now = clock.now()
  const pull = toPullOfHook(hookId, first.pull)
  const thread = await run(db, selectReviewedThread({ ...pull, now }))
  const drop = async () => {
    await run(db, deleteHeldParts(hookId, parts))
    return []
  }
  if (!thread) return drop()
  const runKey = toRunKey(first.reviewId)
  const posting = { hookId, thread, parts: [first, ...rest] as const, commentId, runKey }
  const statements = {
    run: recordRun({ hookId, reviewKey: runKey, commentId, createdAt: now }),
    posted: markPosted({ hookId, parts, commentId, nextId: clock.newId<CommentId>() }),
  }
  return postReview(context, posting, statements).catch((error: unknown) => {
    const constraint = findFailedConstraint(error)
    // Another sweep has posted it.
    if (constraint === 'comments.id') return []
    if (constraint !== null && constraint in writingConstraints) return drop()
    throw error
  })
}

/** Returns the first parts, at least one, up to what is posted at once. */
function takeParts(rows: readonly { part: Review | null }[]): Review[] {
  let chars = 0
  return rows.flatMap(({ part }, at) => {
    if (part === null) return []
    chars += part.text.length
    return at === 0 || chars <= reviewHookLimits.charsMax ? [part] : []
  })
}
