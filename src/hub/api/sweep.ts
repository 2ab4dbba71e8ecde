import { batch } from '../../shared/db/batch'
import { expireClaims } from '../accounts/claim-queries'
import { settleHeld } from '../agents/held-actions'
import { selectHeldToSettle } from '../agents/held-queries'
import { closeLostCalls } from '../agents/model-actions'
import { type PostedReviews, postHeldReviews } from '../agents/review-actions'
import { type HeldReview, selectHeldReviews } from '../agents/review-queries'
import { expireApprovals, expiryStatements } from '../approvals/write-queries'
import { extendBudgetWindows, findExpiringBudgets } from '../budgets/actions'
import { publishReports, reportStatements } from '../budgets/report-actions'
import { countRequesters, isCountingTime, selectUncountedCalls } from '../budgets/requester-queries'
import type { SweepQuery, SweepReport } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { deleteIdleBuckets } from '../grants/queries'
import { sendPushes } from '../inbox/push-actions'
import { sweepMail } from '../mail/send-actions'
import { deleteUnused } from '../media/actions'
import { selectUnused } from '../media/queries'
import { archiveOldRecords, findCutoffs } from '../operations/archive-old-records'
import { archiveStatements } from '../operations/archive-queries'
import { clearEndedHold } from '../operations/backup-actions'
import { selectTransfer } from '../operations/backup-queries'
import { sweepLanes, sweepStatements } from '../replays/actions'
import { readExplorationReport } from '../scheduling/exploration'
import { explorationStatements } from '../scheduling/exploration-queries'
import { startAttempts } from '../scheduling/outage-actions'
import { sweepTrials } from '../trials/advance-actions'
import { sweepDeliveries } from '../webhooks/send-actions'
import { selectDueDeliveries } from '../webhooks/send-queries'
import {
  boundTimeStatements,
  countRunning,
  selectLongestWaiting,
  selectNextSendings,
} from './sweep-queries'

/**
 * Returns the agents to wake because a wake-up may have been lost: those with unclaimed tasks, and those
 * with an activation that has run for a while, which they resume or commit, paused or not. Overdue
 * approvals expire first, so their agents are included. One round trip; more when budget windows have
 * to be created, calls to be counted, reports or reviews posted, or a provider that is down tried.
 */
export async function sweep(
  context: ActionContext,
  now: number,
  question?: SweepQuery,
): Promise<SweepReport> {
  const { db, log, settings } = context
  const cutoffs = findCutoffs(settings, now)
  const answers = await batch(db, {
    bounds: question?.isFirst || question?.isClockBack ? boundTimeStatements(now) : null,
    expire: expireApprovals({ now }),
    expiry: expiryStatements(now),
    claims: expireClaims(now),
    idleBuckets: deleteIdleBuckets(now),
    wake: selectLongestWaiting({ now, capacity: settings.ROOKERY_MAX_CONCURRENT }),
    count: countRunning({ now }),
    expiring: findExpiringBudgets(now),
    uncounted: isCountingTime(now) ? selectUncountedCalls({ now }) : null,
    sendings: selectNextSendings({}),
    deliveries: selectDueDeliveries({ now }),
    transfer: selectTransfer(),
    heldReviews: selectHeldReviews(),
    heldDefinitions: selectHeldToSettle({}),
    unusedMedia: selectUnused(now),
    ...(cutoffs && archiveStatements(cutoffs)),
    ...reportStatements(now),
    ...sweepStatements(now),
    ...(question && explorationStatements(now, question)),
  })
  await extendBudgetWindows(db, answers.expiring, now).catch((error: unknown) =>
    log.error('failed to create budget windows', { error }),
  )
  await countRequesters(db, answers.uncounted, now).catch((error: unknown) =>
    log.error('failed to count spending by requester', { error }),
  )
  await publishReports(context, answers, now).catch((error: unknown) =>
    log.error('failed to post reports', { error }),
  )
  await archiveOldRecords(context, answers.toArchive ?? [], now).catch((error: unknown) =>
    log.error('failed to archive old records', { error }),
  )
  await closeLostCalls(context, answers.count?.lostCalls ?? []).catch((error: unknown) =>
    log.error('failed to charge lost model calls', { error }),
  )
  await deleteUnused(context, answers.unusedMedia, now).catch((error: unknown) =>
    log.error('failed to delete images', { error }),
  )
  if (answers.transfer && !answers.transfer.holds) {
    await clearEndedHold(db).catch((error: unknown) =>
      log.error('failed to remove what an interrupted backup left', { error }),
    )
  }
  const pushAt = await sendDuePushes(context, answers.sendings?.pushAt ?? null, now)
  const mailAt = await sweepMail(context, answers.sendings, now)
  const deliveryAt = sweepDeliveries(context, answers.deliveries, now)
  const laneAt = await sweepDueLanes(context, answers, now)
  await settleHeld(context, answers.heldDefinitions)
  const { wake, count, explorers, schedules, hubState } = answers
  const reviews = await postDueReviews(context, answers.heldReviews, now)
  const attempt = await startAttempts(context, count?.nextAttemptAt ?? null, now)
  return {
    wake: [...new Set([...attempt.wake, ...wake.map(({ id }) => id), ...reviews.wake])],
    running: count?.running ?? 0,
    ...findNext(attempt.nextAt, pushAt, deliveryAt, mailAt, reviews.nextAt, laneAt),
    ...(explorers &&
      schedules && { exploration: readExplorationReport({ explorers, schedules, hubState }) }),
  }
}

/** Sends messages to browsers that wait since an earlier failure, a crash or quiet hours. */
async function sendDuePushes(
  context: ActionContext,
  dueAt: number | null,
  now: number,
): Promise<number | null> {
  if (dueAt === null || dueAt > now) return dueAt
  return sendPushes(context).catch((error: unknown) => {
    context.log.error('failed to send push messages', { error })
    return null
  })
}

/** Posts the reviews of pull requests that are complete; those that fail are tried again by the next sweep. */
async function postDueReviews(
  context: ActionContext,
  held: readonly HeldReview[],
  now: number,
): Promise<PostedReviews> {
  return postHeldReviews(context, held, now).catch((error: unknown) => {
    context.log.error('failed to post reviews', { error })
    return { wake: [], nextAt: null }
  })
}

/** Starts and wakes lanes of replays, and lets trials go on; what could not be is tried again by the next sweep. */
async function sweepDueLanes(
  context: ActionContext,
  answers: Parameters<typeof sweepLanes>[1] & {
    openWork: { trials: Parameters<typeof sweepTrials>[1] } | undefined
  },
  now: number,
): Promise<number | null> {
  const laneAt = await sweepLanes(context, answers, now).catch((error: unknown) => {
    context.log.error('failed to wake lanes of replays', { error })
    return null
  })
  const trialAt = await sweepTrials(context, answers.openWork?.trials ?? [], now)
  return laneAt ?? trialAt
}

/**
 * The earliest of the times at which a provider, a browser, a webhook or the mail server is tried again, a review is complete,
 * or lanes of replays are looked at.
 */
function findNext(...times: (number | null)[]): { nextAttemptAt?: number } {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? {} : { nextAttemptAt: Math.min(...known) }
}
