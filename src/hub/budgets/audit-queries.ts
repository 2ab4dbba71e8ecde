import { budgetLimits } from '../../shared/config'
import type { Db } from '../db'
import { paysForSql, usageRequestersSql } from './scope-sql'

/** A window whose counters differ from the usage events. */
export interface WindowDifference {
  budgetId: string
  scope: string
  scopeId: string
  startsAt: number
  endsAt: number
  countedMicrousd: number
  countedTokens: number
  eventsMicrousd: number
  eventsTokens: number
}

/**
 * Recomputes every started window from the usage events. An event counts for each budget that pays
 * for it, in the last window that started before the event, as when the event was settled. `?1` is
 * now.
 */
const recomputedSql = `
  WITH events AS MATERIALIZED (
    SELECT b.id AS budget_id,
      (SELECT max(w.starts_at) FROM budget_windows w WHERE w.budget_id = b.id AND w.starts_at <= u.created_at) AS starts_at,
      sum(u.cost_microusd) AS microusd, sum(u.input_tokens + u.output_tokens) AS tokens
    FROM ${usageRequestersSql} u CROSS JOIN budgets b ON ${paysForSql('b', 'u')}
    GROUP BY 1, 2)
  SELECT b.id AS budgetId, b.scope, b.scope_id AS scopeId, w.starts_at AS startsAt, w.ends_at AS endsAt,
    w.spent_microusd AS countedMicrousd, w.spent_tokens AS countedTokens,
    coalesce(e.microusd, 0) AS eventsMicrousd, coalesce(e.tokens, 0) AS eventsTokens
  FROM budget_windows w JOIN budgets b ON b.id = w.budget_id
  LEFT JOIN events e ON e.budget_id = w.budget_id AND e.starts_at = w.starts_at
  WHERE w.starts_at <= ?1 OR w.spent_microusd <> 0 OR w.spent_tokens <> 0 OR e.microusd > 0 OR e.tokens > 0`

const differsSql = 'countedMicrousd <> eventsMicrousd OR countedTokens <> eventsTokens'

export const selectDifferences = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT * FROM (${recomputedSql}) WHERE ${differsSql}
       ORDER BY budgetId, startsAt LIMIT ${budgetLimits.differencesMax}`,
    )
    .bind(now)

/** Overwrites differing counters with the sums of the usage events at execution time. */
export const repairWindows = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE budget_windows SET spent_microusd = r.eventsMicrousd, spent_tokens = r.eventsTokens
       FROM (SELECT * FROM (${recomputedSql}) WHERE ${differsSql}) AS r
       WHERE budget_windows.budget_id = r.budgetId AND budget_windows.starts_at = r.startsAt`,
    )
    .bind(now)
