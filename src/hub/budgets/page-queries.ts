import { budgetLimits } from '../../shared/config'
import type { AccountKind, BudgetStatus } from '../contract/hub'
import type { Db } from '../db'
import { isCurrentWindowSql, reservedSql } from './scope-sql'

/** A budget as pages show it, with its current window and what running activations have reserved. */
export interface PageBudget {
  id: string
  scope: BudgetStatus['scope']
  scopeId: string
  /** Name of the agent; null for other scopes. */
  name: string | null
  kind: AccountKind | null
  /** Name of the community; null for other scopes. */
  community: string | null
  period: 'day' | 'week' | 'month'
  resetDay: number
  timezone: string
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  reservedMicrousd: number
  reservedTokens: number
  startsAt: number | null
  endsAt: number | null
  /** Shares of a limit at which the budget warns, throttles and refuses tasks. */
  warningShare: number
  throttleShare: number
  criticalShare: number
  /** 1 when tasks of critical priority can spend beyond `criticalShare`. */
  allowsCritical: number
  madeBy: 'admin' | 'definition'
}

/** Selects budgets as `PageBudget`; append a WHERE clause on `b`. `?1` is now. */
export const pageBudgetSql = `
  SELECT b.id, b.scope, b.scope_id AS scopeId, a.name, a.kind, b.period, b.timezone,
    b.limit_microusd AS limitMicrousd, b.limit_tokens AS limitTokens,
    coalesce(w.spent_microusd, 0) AS spentMicrousd, coalesce(w.spent_tokens, 0) AS spentTokens,
    ${reservedSql('b', 'reserved_microusd')} AS reservedMicrousd,
    ${reservedSql('b', 'reserved_tokens')} AS reservedTokens,
    b.reset_day AS resetDay, b.warning_share AS warningShare, b.throttle_share AS throttleShare,
    b.critical_share AS criticalShare, b.allows_critical AS allowsCritical, b.made_by AS madeBy,
    m.name AS community,
    w.starts_at AS startsAt, w.ends_at AS endsAt
  FROM budgets b
  LEFT JOIN accounts a ON b.scope = 'agent' AND a.id = b.scope_id
  LEFT JOIN communities m ON b.scope = 'community' AND m.id = b.scope_id
  LEFT JOIN budget_windows w ON ${isCurrentWindowSql('b', 'w', '?1')}`

const DAY_MS = 86_400_000
/** Selects names to offer for a new budget: agents, communities, recently used models and providers. */
export const selectScopeNames = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT * FROM (SELECT 'agent' AS scope, name FROM accounts WHERE kind = 'agent' ORDER BY name LIMIT ?2)
       UNION ALL SELECT * FROM (SELECT 'community', name FROM communities ORDER BY name LIMIT ?2)
       UNION ALL SELECT * FROM (SELECT DISTINCT scope, scope_id FROM usage_days
         WHERE scope IN ('model', 'provider') AND day > ?1 ORDER BY scope, scope_id LIMIT ?2)`,
    )
    .bind(Math.floor(now / DAY_MS) - budgetLimits.namesDays, budgetLimits.namesOffered)
