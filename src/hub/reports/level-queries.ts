import type { Db } from '../db'

const reached = (threshold: 'warning' | 'throttle' | 'critical'): string =>
  `(coalesce(w.spent_microusd >= b.limit_microusd * b.${threshold}_share, 0)
    OR coalesce(w.spent_tokens >= b.limit_tokens * b.${threshold}_share, 0))`

/** 0 healthy, 1 warning, 2 throttle, 3 critical. */
const levelSql = `${reached('warning')} + ${reached('throttle')} + ${reached('critical')}`

/** A budget whose state differs from the last report about it. */
export interface ChangedBudget {
  id: string
  scope: 'hub' | 'agent' | 'executor' | 'model' | 'community'
  scopeId: string
  /** Name of the agent or community; null for other scopes. */
  name: string | null
  period: 'day' | 'week' | 'month'
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  startsAt: number
  endsAt: number
  level: number
  saidLevel: number
  saidStartsAt: number
  /** Time of the last change of the budget. */
  updatedAt: number
  /** 1 when tasks of critical priority can use the share above the critical threshold. */
  allowsCritical: number
}

/**
 * Selects budgets that changed since the last report: a threshold was crossed, a limit was changed, or a
 * new period started. Reads only budgets that have crossed a threshold before.
 */
export const selectChangedBudgets = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT * FROM (
         SELECT b.id, b.scope, b.scope_id AS scopeId,
           coalesce((SELECT name FROM accounts WHERE id = b.scope_id AND b.scope = 'agent'),
             (SELECT name FROM communities WHERE id = b.scope_id AND b.scope = 'community')) AS name,
           b.period, b.limit_microusd AS limitMicrousd, b.limit_tokens AS limitTokens,
           w.spent_microusd AS spentMicrousd, w.spent_tokens AS spentTokens, w.starts_at AS startsAt,
           w.ends_at AS endsAt, ${levelSql} AS level, l.level AS saidLevel, l.starts_at AS saidStartsAt, l.is_crossed,
           b.updated_at AS updatedAt, b.allows_critical AS allowsCritical
         FROM budget_levels l CROSS JOIN budgets b ON b.id = l.budget_id
         CROSS JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at <= ?1 AND w.ends_at > ?1
         WHERE l.is_crossed = 1 OR l.level > 0)
       WHERE is_crossed = 1 OR level <> saidLevel OR startsAt <> saidStartsAt
       ORDER BY level DESC, id LIMIT 100`,
    )
    .bind(now)

/** SQL condition: whether a budget crossed a threshold and has to be reported without a sweep. */
export const hasCrossedSql = 'EXISTS (SELECT 1 FROM budget_levels WHERE is_crossed = 1)'

/** Stores the reported levels; runs in the same batch as the posts that report them. */
export const updateReportedLevels = (db: Db, budgets: ChangedBudget[]): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE budget_levels SET starts_at = e.value ->> 'startsAt', level = e.value ->> 'level', is_crossed = 0
       FROM json_each(?1) e WHERE budget_id = e.value ->> 'id'`,
    )
    .bind(JSON.stringify(budgets))
