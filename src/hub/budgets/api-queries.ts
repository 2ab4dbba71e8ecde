import type { Db } from '../db'
import { pageBudgetSql } from './page-queries'

/** All budgets, the hub's first. */
export const selectBudgets = (db: Db, now: number): D1PreparedStatement =>
  db.d1.prepare(`${pageBudgetSql} ORDER BY b.scope <> 'hub', a.name, b.id LIMIT 1000`).bind(now)

export const selectBudget = (db: Db, id: string, now: number): D1PreparedStatement =>
  db.d1.prepare(`${pageBudgetSql} WHERE b.id = ?2`).bind(now, id)

/** Limits to set; one that is absent stays, null lifts it. */
export interface LimitChange {
  limit_microusd?: number | null | undefined
  limit_tokens?: number | null | undefined
}

export const updateLimits = (
  db: Db,
  id: string,
  change: LimitChange,
  now: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE budgets SET limit_microusd = iif(?2, ?3, limit_microusd),
         limit_tokens = iif(?4, ?5, limit_tokens), updated_at = ?6 WHERE id = ?1`,
    )
    .bind(
      id,
      Number(change.limit_microusd !== undefined),
      change.limit_microusd ?? null,
      Number(change.limit_tokens !== undefined),
      change.limit_tokens ?? null,
      now,
    )
