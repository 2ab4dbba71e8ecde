import type { AccountId } from '../../ids'
import type { ActionContext } from '../action-context'
import { expireApprovals, followExpiry } from '../approvals/write-queries'
import { extendBudgetWindows, findShortBudgets } from '../budgets/actions'
import type { ShortBudget } from '../budgets/queries'
import type { SweepQuestion, SweepReport } from '../contract'
import { readExplorationReport } from '../exploration/sweep'
import { explorationStatements } from '../exploration/sweep-queries'
import { forgetBuckets } from '../grants/rate-buckets'
import { findReports, sayReports } from '../reports/actions'
import { isEndingSql, isHubPausedSql, isWaitingSql } from './waiting'

/** An activation younger than this is surely being worked on. */
const settledAfterMs = 3_000

const wakeSql = `
  SELECT id FROM (
    SELECT i.account_id AS id, min(i.created_at) AS since FROM inbox_items i
      JOIN agents a ON a.account_id = i.account_id
      WHERE ${isWaitingSql('i')} AND ((a.is_paused = 0 AND NOT ${isHubPausedSql}) OR ${isEndingSql('i')})
      GROUP BY i.account_id
    UNION
    SELECT agent_id, started_at FROM activations WHERE state = 'running' AND started_at < ?1
  ) GROUP BY id ORDER BY min(since) LIMIT 500`

/**
 * Who must be woken because a hint may have been lost: agents with unclaimed tasks, and the owners
 * of activations that run for a while, who resume or commit them, paused or not (S6). Approvals whose time
 * has passed expire first, so their agents are among them (M7). One round trip; more when windows of
 * budgets run out, or when the hub has something to say of its agents.
 */
export async function sweep(
  context: ActionContext,
  now: number,
  question?: SweepQuestion,
): Promise<SweepReport> {
  const { db, log } = context
  const reports = findReports(db, now)
  const upkeep = [expireApprovals(db, now), ...followExpiry(db, now), forgetBuckets(db, now)]
  const all = await db.d1.batch<Record<string, unknown>>([
    ...upkeep,
    db.d1.prepare(wakeSql).bind(now - settledAfterMs),
    db.d1.prepare(`SELECT count(*) AS running FROM activations WHERE state = 'running'`),
    findShortBudgets(db, now),
    ...reports,
    ...(question ? explorationStatements(db, now, question) : []),
  ])
  const results = all.slice(upkeep.length)
  const short = (results[2]?.results ?? []) as unknown as ShortBudget[]
  await extendBudgetWindows(db, short, now).catch((error: unknown) =>
    log.error('windows of budgets could not be made', { error }),
  )
  await sayReports(context, results.slice(3), now).catch((error: unknown) =>
    log.error('a report could not be said', { error }),
  )
  return {
    wake: (results[0]?.results ?? []).map((row) => row.id as AccountId),
    running: Number(results[1]?.results[0]?.running ?? 0),
    ...(question && { exploration: readExplorationReport(results.slice(3 + reports.length)) }),
  }
}
