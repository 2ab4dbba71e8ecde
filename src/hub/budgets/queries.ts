import type { AccountId, ActivationId, BudgetId } from '../../ids'
import type { BudgetStatus, Usage } from '../contract'
import type { Db } from '../db'
import { listWindows, type Period, windowsAheadMs } from './calendar'

export interface NewBudget {
  scope: BudgetStatus['scope']
  /** Account id of an agent; '' for the hub. */
  scopeId: string
  period: Period['period']
  limitMicrousd: number | null
  limitTokens: number | null
  now: number
  timezone?: string
  resetDay?: number
}

/**
 * Creates the budget of a scope, or sets the limits of the one there is, and makes its windows. The
 * period of a budget that exists stays, so its windows never overlap.
 * Unexecuted: run them in the batch of the action.
 */
export function createBudgetStatements(db: Db, budget: NewBudget): D1PreparedStatement[] {
  const { scope, scopeId, period, now, timezone = 'UTC', resetDay = 1 } = budget
  const windows = listWindows({ period, resetDay, timezone }, now, now + windowsAheadMs)
  return [
    db.d1
      .prepare(
        `INSERT INTO budgets (id, scope, scope_id, period, reset_day, timezone, limit_microusd, limit_tokens, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)
         ON CONFLICT (scope, scope_id) DO UPDATE SET
           limit_microusd = excluded.limit_microusd, limit_tokens = excluded.limit_tokens, updated_at = excluded.updated_at`,
      )
      .bind(
        `budget:${scope}:${scopeId}`,
        scope,
        scopeId,
        period,
        resetDay,
        timezone,
        budget.limitMicrousd,
        budget.limitTokens,
        now,
      ),
    db.d1
      .prepare(
        `INSERT OR IGNORE INTO budget_windows (budget_id, starts_at, ends_at)
         SELECT b.id, w.value ->> 'startsAt', w.value ->> 'endsAt' FROM budgets b, json_each(?3) w
         WHERE b.scope = ?1 AND b.scope_id = ?2
           AND b.period = ?4 AND b.reset_day = ?5 AND b.timezone = ?6`,
      )
      .bind(scope, scopeId, JSON.stringify(windows), period, resetDay, timezone),
  ]
}

/** A budget whose last window ends early; null: it has none. */
export interface ShortBudget extends Period {
  id: string
  endsAt: number | null
}

/** Budgets whose last window ends before `until`. Reads one window a budget. */
export const selectShortBudgets = (db: Db, until: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT * FROM (
         SELECT b.id, b.period, b.reset_day AS resetDay, b.timezone,
                (SELECT w.ends_at FROM budget_windows w WHERE w.budget_id = b.id
                 ORDER BY w.starts_at DESC LIMIT 1) AS endsAt
         FROM budgets b)
       WHERE coalesce(endsAt, 0) < ?1`,
    )
    .bind(until)

export const insertWindows = (
  db: Db,
  windows: { budgetId: string; startsAt: number; endsAt: number }[],
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT OR IGNORE INTO budget_windows (budget_id, starts_at, ends_at)
       SELECT value ->> 'budgetId', value ->> 'startsAt', value ->> 'endsAt' FROM json_each(?1)`,
    )
    .bind(JSON.stringify(windows))

/**
 * The budgets an agent spends from, with what is spent in the window that holds now and what
 * running activations have reserved. `?1` is the agent, `?2` now.
 */
export const budgetsInScopeSql = `
  SELECT b.id, b.scope, b.period, b.limit_microusd AS limitMicrousd, b.limit_tokens AS limitTokens,
    coalesce(w.spent_microusd, 0) AS spentMicrousd, coalesce(w.spent_tokens, 0) AS spentTokens,
    coalesce(w.ends_at, 0) AS endsAt,
    (SELECT coalesce(sum(x.reserved_microusd), 0) FROM activations x
      WHERE x.state = 'running' AND (b.scope = 'hub' OR x.agent_id = b.scope_id)) AS reservedMicrousd,
    (SELECT coalesce(sum(x.reserved_tokens), 0) FROM activations x
      WHERE x.state = 'running' AND (b.scope = 'hub' OR x.agent_id = b.scope_id)) AS reservedTokens
  FROM budgets b
  LEFT JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at <= ?2 AND w.ends_at > ?2
  WHERE b.scope = 'hub' OR (b.scope = 'agent' AND b.scope_id = ?1)`

export const selectBudgetsInScope = (
  db: Db,
  agentId: AccountId | '',
  now: number,
): D1PreparedStatement => db.d1.prepare(budgetsInScopeSql).bind(agentId, now)

/** One row of `budgetsInScopeSql`. */
export type BudgetRow = BudgetStatus & { id: BudgetId }

/** Stands for "no limit"; far above any sum of micro-dollars, and exact in a double. */
const unlimited = 9_000_000_000_000_000

/**
 * What is left for one activation, over all budgets in its scope, as one row (B4):
 * `leftX` is limit - spent, what it could have if nobody else had anything reserved; what OTHER
 * running activations have already spent without settling it counts as spent;
 * `freeX` is limit - spent - the reservations of OTHER running activations.
 * Neither is ever negative. A limited budget without a window for now has nothing left: it fails
 * closed. Inside the text `?1` is the activation, `?2` the agent, `?3` now.
 */
export const roomSql = `
  SELECT max(0, coalesce(min(microusd - usedMicrousd), 0)) AS leftMicrousd,
         max(0, coalesce(min(tokens - usedTokens), 0)) AS leftTokens,
         max(0, coalesce(min(microusd - heldMicrousd), 0)) AS freeMicrousd,
         max(0, coalesce(min(tokens - heldTokens), 0)) AS freeTokens
  FROM (
    SELECT
      CASE WHEN b.limit_microusd IS NULL THEN ${unlimited}
           ELSE b.limit_microusd - coalesce(w.spent_microusd, b.limit_microusd) END AS microusd,
      CASE WHEN b.limit_tokens IS NULL THEN ${unlimited}
           ELSE b.limit_tokens - coalesce(w.spent_tokens, b.limit_tokens) END AS tokens,
      total(x.cost_microusd) AS usedMicrousd, total(x.input_tokens) AS usedTokens,
      total(x.reserved_microusd) AS heldMicrousd, total(x.reserved_tokens) AS heldTokens
    FROM budgets b
    LEFT JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at <= ?3 AND w.ends_at > ?3
    LEFT JOIN activations x ON x.state = 'running' AND x.id <> ?1
      AND (b.scope = 'hub' OR x.agent_id = b.scope_id)
    WHERE b.scope = 'hub' OR (b.scope = 'agent' AND b.scope_id = ?2)
    GROUP BY b.id
  )`

/**
 * What the calls in the JSON list `usage` cost that are not in the books yet, as one row: so a call
 * that was settled when its activation was parked is not paid for twice. `?1` is the activation.
 */
export const unsettledSql = (usage: string): string => `
  SELECT coalesce(sum(u.value ->> 'costMicrousd'), 0) AS microusd,
    coalesce(sum((u.value ->> 'inputTokens') + (u.value ->> 'outputTokens')), 0) AS tokens
  FROM json_each(${usage}) u
  WHERE NOT EXISTS (SELECT 1 FROM usage_events e WHERE e.activation_id = ?1 AND e.call = u.value ->> 'call')`

/**
 * Adds what an activation spent to every budget in its scope, if the activation still runs; goes
 * before the statement that writes the calls down. Where no window holds now, the last one before
 * takes it: what was spent is never left out (B11).
 */
export const settle = (
  db: Db,
  spent: { agentId: AccountId; activationId: ActivationId; usage: Usage[]; now: number },
): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE budget_windows SET spent_microusd = spent_microusd + new.microusd, spent_tokens = spent_tokens + new.tokens
       FROM (${unsettledSql('?3')}) AS new
       WHERE (budget_id, starts_at) IN (
           SELECT b.id, (SELECT max(w.starts_at) FROM budget_windows w WHERE w.budget_id = b.id AND w.starts_at <= ?4)
           FROM budgets b WHERE b.scope = 'hub' OR (b.scope = 'agent' AND b.scope_id = ?2))
         AND EXISTS (SELECT 1 FROM activations WHERE id = ?1 AND state = 'running')`,
    )
    .bind(spent.activationId, spent.agentId, JSON.stringify(spent.usage), spent.now)
