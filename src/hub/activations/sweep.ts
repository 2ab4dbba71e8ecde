import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { expireApprovals, expiryStatements } from '../approvals/write-queries'
import { extendBudgetWindows, findExpiringBudgets } from '../budgets/actions'
import type { ExpiringBudget } from '../budgets/queries'
import type { SweepQuery, SweepReport } from '../contract/hub'
import { readExplorationReport } from '../exploration/sweep'
import { explorationStatements } from '../exploration/sweep-queries'
import { deleteIdleBuckets } from '../grants/rate-buckets'
import { publishReports, reportStatements } from '../reports/actions'
import { isHubPausedSql, isPendingCancellationSql, isWaitingSql } from './waiting'

/** Milliseconds; the agent of a younger activation needs no wake-up. */
const settledAfterMs = 3_000

const wakeSql = `
  SELECT id FROM (
    SELECT i.account_id AS id, min(i.created_at) AS since FROM inbox_items i
      JOIN agents a ON a.account_id = i.account_id
      WHERE ${isWaitingSql('i')} AND ((a.is_paused = 0 AND NOT ${isHubPausedSql}) OR ${isPendingCancellationSql('i')})
      GROUP BY i.account_id
    UNION
    SELECT agent_id, started_at FROM activations WHERE state = 'running' AND started_at < ?1
  ) GROUP BY id ORDER BY min(since) LIMIT 500`

/**
 * Returns the agents to wake because a wake-up may have been lost: those with unclaimed tasks, and those
 * with an activation that has run for a while, which they resume or commit, paused or not. Overdue
 * approvals expire first, so their agents are included. One round trip; more when budget windows have to
 * be created or reports have to be posted.
 */
export async function sweep(
  context: ActionContext,
  now: number,
  question?: SweepQuery,
): Promise<SweepReport> {
  const { db, log } = context
  const reports = reportStatements(db, now)
  const upkeep = [
    expireApprovals(db, now),
    ...expiryStatements(db, now),
    deleteIdleBuckets(db, now),
  ]
  const all = await db.d1.batch<Record<string, unknown>>([
    ...upkeep,
    db.d1.prepare(wakeSql).bind(now - settledAfterMs),
    db.d1.prepare(`SELECT count(*) AS running FROM activations WHERE state = 'running'`),
    findExpiringBudgets(db, now),
    ...reports,
    ...(question ? explorationStatements(db, now, question) : []),
  ])
  const results = all.slice(upkeep.length)
  const short = (results[2]?.results ?? []) as unknown as ExpiringBudget[]
  await extendBudgetWindows(db, short, now).catch((error: unknown) =>
    log.error('failed to create budget windows', { error }),
  )
  await publishReports(context, results.slice(3), now).catch((error: unknown) =>
    log.error('failed to post reports', { error }),
  )
  return {
    wake: (results[0]?.results ?? []).map((row) => row.id as AccountId),
    running: Number(results[1]?.results[0]?.running ?? 0),
    ...(question && { exploration: readExplorationReport(results.slice(3 + reports.length)) }),
  }
}
