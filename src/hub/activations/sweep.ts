import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { expireApprovals, expiryStatements } from '../approvals/write-queries'
import { extendBudgetWindows, findExpiringBudgets } from '../budgets/actions'
import { expireClaims } from '../claims/queries'
import type { SweepQuery, SweepReport } from '../contract/hub'
import { readExplorationReport } from '../exploration/sweep'
import { explorationStatements } from '../exploration/sweep-queries'
import { deleteIdleBuckets } from '../grants/rate-bucket-queries'
import { startAttempts } from '../outages/actions'
import { publishReports, reportStatements } from '../reports/actions'
import { countRunning, selectLongestWaiting } from './sweep-queries'

/** Milliseconds; the agent of a younger activation needs no wake-up. */
const settledAfterMs = 3_000

/**
 * Returns the agents to wake because a wake-up may have been lost: those with unclaimed tasks, and those
 * with an activation that has run for a while, which they resume or commit, paused or not. Overdue
 * approvals expire first, so their agents are included. One round trip; more when budget windows have
 * to be created, reports have to be posted, or a provider that is down has to be tried.
 */
export async function sweep(
  context: ActionContext,
  now: number,
  question?: SweepQuery,
): Promise<SweepReport> {
  const { db, log } = context
  const answers = await batch(db, {
    expire: expireApprovals(now),
    expiry: expiryStatements(now),
    claims: expireClaims(now),
    idleBuckets: deleteIdleBuckets(now),
    wake: selectLongestWaiting({ before: now - settledAfterMs }),
    count: countRunning({}),
    expiring: findExpiringBudgets(now),
    ...reportStatements(now),
    ...(question && explorationStatements(now, question)),
  })
  await extendBudgetWindows(db, answers.expiring, now).catch((error: unknown) =>
    log.error('failed to create budget windows', { error }),
  )
  await publishReports(context, answers, now).catch((error: unknown) =>
    log.error('failed to post reports', { error }),
  )
  const { wake, count, explorers, schedules, hubState } = answers
  const attempt = await startAttempts(context, count?.nextAttemptAt ?? null, now)
  return {
    wake: [...new Set([...attempt.wake, ...wake.map(({ id }) => id)])],
    running: count?.running ?? 0,
    ...(attempt.nextAt !== null && { nextAttemptAt: attempt.nextAt }),
    ...(explorers &&
      schedules && { exploration: readExplorationReport({ explorers, schedules, hubState }) }),
  }
}
