import type { AccountId } from '../../ids'
import { extendBudgetWindows } from '../budgets/actions'
import type { SweepReport } from '../contract'
import type { Db } from '../db'

/** An activation younger than this is surely being worked on. */
const settledAfterMs = 5_000

const wakeSql = `
  SELECT id FROM (
    SELECT i.account_id AS id, min(i.created_at) AS since FROM inbox_items i
      JOIN agents a ON a.account_id = i.account_id AND a.is_paused = 0
      WHERE i.read_at IS NULL AND i.is_task = 1 AND i.claimed_by IS NULL GROUP BY i.account_id
    UNION
    SELECT agent_id, started_at FROM activations WHERE state = 'running' AND started_at < ?1
  ) GROUP BY id ORDER BY min(since) LIMIT 500`

/**
 * Who must be woken because a hint may have been lost: agents with unclaimed tasks, and the owners
 * of activations that run for a while, who resume or commit them (S6).
 */
export async function sweep(db: Db, now: number): Promise<SweepReport> {
  const results = await db.d1.batch<Record<string, unknown>>([
    db.d1.prepare(wakeSql).bind(now - settledAfterMs),
    db.d1.prepare(`SELECT count(*) AS running FROM activations WHERE state = 'running'`),
  ])
  await extendBudgetWindows(db, now)
  return {
    wake: (results[0]?.results ?? []).map((row) => row.id as AccountId),
    running: Number(results[1]?.results[0]?.running ?? 0),
  }
}
