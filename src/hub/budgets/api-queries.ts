import type { Db } from '../db'
import type { BudgetChange } from './inputs'
import { pageBudgetSql } from './page-queries'
import type { NewBudget } from './queries'
import { agentModelsSql, paysForSql } from './scope-sql'

/** Selects all budgets, those of the hub first. */
export const selectBudgets = (db: Db, now: number): D1PreparedStatement =>
  db.d1.prepare(`${pageBudgetSql} ORDER BY b.scope <> 'hub', a.name, b.id LIMIT 1000`).bind(now)

export const selectBudget = (db: Db, id: string, now: number): D1PreparedStatement =>
  db.d1.prepare(`${pageBudgetSql} WHERE b.id = ?2`).bind(now, id)

/** Selects the existing budget with the same scope, period and creator as a new one. */
export const selectDuplicateBudget = (
  db: Db,
  { scope, scopeId, period, madeBy }: Pick<NewBudget, 'scope' | 'scopeId' | 'period' | 'madeBy'>,
): D1PreparedStatement =>
  db.d1
    .prepare(
      'SELECT id FROM budgets WHERE scope = ?1 AND scope_id = ?2 AND period = ?3 AND made_by = ?4',
    )
    .bind(scope, scopeId, period, madeBy)

/** Returns a row when the budget pays for a model that some agent uses. */
export const selectPaidModel = (db: Db, id: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT b.id FROM budgets b CROSS JOIN (
         SELECT account_id AS agent_id, NULL AS community_id, ${agentModelsSql('g')} AS models FROM agents g) ask
       WHERE b.id = ?1 AND ${paysForSql('b', 'ask')} LIMIT 1`,
    )
    .bind(id)

export const selectScopeId = (
  db: Db,
  scope: 'agent' | 'community',
  name: string,
): D1PreparedStatement =>
  scope === 'agent'
    ? db.d1.prepare(`SELECT id FROM accounts WHERE name = ?1 AND kind = 'agent'`).bind(name)
    : db.d1.prepare('SELECT id FROM communities WHERE name = ?1').bind(name)

/**
 * Updates the given fields; absent ones stay. Returns a row, or none when the budget is missing or the
 * thresholds would be out of order.
 */
export const updateBudget = (
  db: Db,
  id: string,
  change: BudgetChange,
  now: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE budgets SET limit_microusd = iif(?2, ?3, limit_microusd),
         limit_tokens = iif(?4, ?5, limit_tokens), warning_share = coalesce(?6, warning_share),
         throttle_share = coalesce(?7, throttle_share), critical_share = coalesce(?8, critical_share),
         allows_critical = coalesce(?9, allows_critical), updated_at = ?10
       WHERE id = ?1 AND coalesce(?6, warning_share) <= coalesce(?7, throttle_share)
         AND coalesce(?7, throttle_share) <= coalesce(?8, critical_share)
       RETURNING id`,
    )
    .bind(
      ...[id, Number(change.limit_microusd !== undefined), change.limit_microusd ?? null],
      ...[Number(change.limit_tokens !== undefined), change.limit_tokens ?? null],
      ...[change.warning_share ?? null, change.throttle_share ?? null],
      change.critical_share ?? null,
      change.allows_critical === undefined ? null : Number(change.allows_critical),
      now,
    )

/** Deletes a budget and returns a row, unless it is the hub's last one or a definition's limit. */
export const deleteBudget = (db: Db, id: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `DELETE FROM budgets WHERE id = ?1
         AND (scope <> 'hub' OR (SELECT count(*) FROM budgets WHERE scope = 'hub') > 1)
         AND (made_by <> 'definition' OR limit_microusd IS NULL)
       RETURNING id`,
    )
    .bind(id)

/** Deletes the counters and reported levels of a deleted budget. */
export const deleteOrphanedRows = (db: Db, id: string): D1PreparedStatement[] =>
  ['budget_windows', 'budget_levels'].map((table) =>
    db.d1
      .prepare(
        `DELETE FROM ${table} WHERE budget_id = ?1 AND NOT EXISTS (SELECT 1 FROM budgets WHERE id = ?1)`,
      )
      .bind(id),
  )
