import { budgetLimits } from '../../shared/config'
import type { AccountId, ActivationId, BudgetId } from '../../shared/ids'
import type { BudgetStatus, Usage } from '../contract/hub'
import type { Db } from '../db'
import type { Period, Window } from './calendar'
import {
  agentModelsSql,
  isCurrentWindowSql,
  paysForSql,
  reservedSql,
  usageRequestersSql,
} from './scope-sql'

export interface Thresholds {
  warningShare: number
  throttleShare: number
  criticalShare: number
  allowsCritical: boolean
}

export interface NewBudget extends Period, Thresholds {
  id: string
  scope: BudgetStatus['scope']
  /** Account id, provider, model or community id; '' for the hub. */
  scopeId: string
  limitMicrousd: number | null
  limitTokens: number | null
  madeBy: 'admin' | 'definition'
  now: number
}

export const defaultThresholds: Thresholds = {
  warningShare: budgetLimits.warningShare,
  throttleShare: budgetLimits.throttleShare,
  criticalShare: budgetLimits.criticalShare,
  allowsCritical: false,
}

/**
 * Inserts a budget. Scope, period and creator are unique: a duplicate by an admin fails with a UNIQUE
 * error, a duplicate by a definition leaves the existing budget unchanged.
 */
export const insertBudget = (db: Db, budget: NewBudget): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO budgets (id, scope, scope_id, period, reset_day, timezone, limit_microusd, limit_tokens,
         warning_share, throttle_share, critical_share, allows_critical, made_by, created_at, updated_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14)
       ${budget.madeBy === 'definition' ? 'ON CONFLICT DO NOTHING' : ''}`,
    )
    .bind(
      ...[budget.id, budget.scope, budget.scopeId, budget.period, budget.resetDay, budget.timezone],
      ...[budget.limitMicrousd, budget.limitTokens, budget.warningShare, budget.throttleShare],
      ...[budget.criticalShare, Number(budget.allowsCritical), budget.madeBy, budget.now],
    )

/** Sets the limit of an agent's definition, in micro-dollars; null removes it. */
export const updateDefinitionLimit = (
  db: Db,
  agentId: AccountId,
  limitMicrousd: number | null,
  now: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE budgets SET limit_microusd = ?2, updated_at = ?3
       WHERE scope = 'agent' AND scope_id = ?1 AND made_by = 'definition'`,
    )
    .bind(agentId, limitMicrousd, now)

/** A budget that needs new windows. `endsAt` is the end of its last window; null without one. */
export interface ExpiringBudget extends Period {
  id: string
  endsAt: number | null
}

/**
 * Selects budgets whose last window ends before `until`, at most as many as one sweep extends. Budgets
 * shared by several agents come first, then those that end soonest. Reads one window per budget.
 */
export const selectExpiringBudgets = (db: Db, until: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT * FROM (
         SELECT b.id, b.scope, b.period, b.reset_day AS resetDay, b.timezone,
                (SELECT w.ends_at FROM budget_windows w WHERE w.budget_id = b.id
                 ORDER BY w.starts_at DESC LIMIT 1) AS endsAt
         FROM budgets b)
       WHERE coalesce(endsAt, 0) < ?1
       ORDER BY scope = 'agent', endsAt LIMIT ${budgetLimits.extendedPerSweep}`,
    )
    .bind(until)

export type BudgetWindow = Window & { budgetId: string }

/** Condition: the call `u` counts in the window `w`, which lasts until the budget's next window starts. */
const isCountedInSql = `u.created_at >= w.starts_at AND u.created_at < coalesce(
  (SELECT min(n.starts_at) FROM budget_windows n WHERE n.budget_id = w.budget_id AND n.starts_at > w.starts_at),
  ${Number.MAX_SAFE_INTEGER})`

/** Sums the usage events of the windows `w` that match `condition`; `b` is the budget of each. */
const recountSql = (condition: string): string => `
  SELECT w.budget_id, w.starts_at, coalesce(sum(u.cost_microusd), 0) AS microusd,
    coalesce(sum(u.input_tokens + u.output_tokens), 0) AS tokens
  FROM budget_windows w CROSS JOIN budgets b ON b.id = w.budget_id
  LEFT JOIN ${usageRequestersSql} u ON ${isCountedInSql} AND ${paysForSql('b', 'u')}
  WHERE ${condition} GROUP BY w.budget_id, w.starts_at`

/** Marks a new window until the next statement sums its usage. */
const uncounted = -1

/**
 * Returns two statements that insert missing windows of existing budgets; run both in one batch. The
 * usage since the start of each new window is counted, so a new budget counts from the start of its
 * period. The window before a new one is recounted, because it ends where the new one starts.
 */
export function insertWindows(db: Db, windows: BudgetWindow[], now: number): D1PreparedStatement[] {
  const list = JSON.stringify(windows)
  const isNewSql = `(w.spent_tokens = ${uncounted} OR EXISTS (
    SELECT 1 FROM budget_windows n WHERE n.budget_id = w.budget_id AND n.spent_tokens = ${uncounted}
      AND n.starts_at = (SELECT min(a.starts_at) FROM budget_windows a
        WHERE a.budget_id = w.budget_id AND a.starts_at > w.starts_at)))`
  const ofThese = `w.budget_id IN (SELECT value ->> 'budgetId' FROM json_each(?1))`
  return [
    db.d1
      .prepare(
        `INSERT OR IGNORE INTO budget_windows (budget_id, starts_at, ends_at, spent_tokens)
         SELECT b.id, n.value ->> 'startsAt', n.value ->> 'endsAt', iif(n.value ->> 'startsAt' <= ?2, ${uncounted}, 0)
         FROM json_each(?1) n CROSS JOIN budgets b ON b.id = n.value ->> 'budgetId'`,
      )
      .bind(list, now),
    db.d1
      .prepare(
        `UPDATE budget_windows SET spent_microusd = new.microusd, spent_tokens = new.tokens
         FROM (${recountSql(`${ofThese} AND ${isNewSql}`)}) AS new
         WHERE budget_windows.budget_id = new.budget_id AND budget_windows.starts_at = new.starts_at`,
      )
      .bind(list),
  ]
}

/**
 * Selects the budgets that an agent spends from, with spending in the current window and reservations
 * of running activations. These are the budgets of its running activation, or of any that it could
 * start when none runs. `?1` is the agent, `?2` now.
 */
export const budgetsInScopeSql = `
  SELECT b.id, b.scope, b.scope_id AS scopeId, b.period, b.limit_microusd AS limitMicrousd, b.limit_tokens AS limitTokens,
    b.warning_share AS warningShare, b.throttle_share AS throttleShare, b.critical_share AS criticalShare,
    coalesce(w.spent_microusd, 0) AS spentMicrousd, coalesce(w.spent_tokens, 0) AS spentTokens,
    coalesce(w.ends_at, 0) AS endsAt,
    ${reservedSql('b', 'reserved_microusd')} AS reservedMicrousd,
    ${reservedSql('b', 'reserved_tokens')} AS reservedTokens
  FROM (SELECT me.id AS agent_id, x.community_id, coalesce(x.models, ${agentModelsSql('g')}, '[]') AS models
    FROM (SELECT ?1 AS id) me LEFT JOIN agents g ON g.account_id = me.id
    LEFT JOIN activations x ON x.agent_id = me.id AND x.state = 'running') ask
  CROSS JOIN budgets b ON ${paysForSql('b', 'ask')}
  LEFT JOIN budget_windows w ON ${isCurrentWindowSql('b', 'w', '?2')}
  ORDER BY b.scope <> 'hub', b.scope, b.scope_id, b.id`

export const selectBudgetsInScope = (
  db: Db,
  agentId: AccountId | '',
  now: number,
): D1PreparedStatement => db.d1.prepare(budgetsInScopeSql).bind(agentId, now)

/** One row of `budgetsInScopeSql`. */
export type BudgetRow = BudgetStatus & { id: BudgetId }

/** Condition: the call `u` of a JSON list of usage has no usage event of the activation `?1` yet. */
const isUnsettledSql = `NOT EXISTS (
  SELECT 1 FROM usage_events e WHERE e.activation_id = ?1 AND e.call = u.value ->> 'call')`

/**
 * Selects the cost of the unsettled calls in the JSON list `usage`, as one row in micro-dollars. So a
 * call that was settled when its activation was parked is not charged twice. `?1` is the activation.
 */
export const unsettledSql = (usage: string): string => `
  SELECT coalesce(sum(u.value ->> 'costMicrousd'), 0) AS microusd
  FROM json_each(${usage}) u WHERE ${isUnsettledSql}`

/**
 * Adds the cost of each call of a running activation to every budget that pays for it. Must run before
 * the statement that inserts the usage events. Without a current window the last earlier one counts
 * the cost, so that no spending is lost.
 */
export const settleUsage = (
  db: Db,
  spent: { activationId: ActivationId; usage: Usage[]; now: number },
): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE budget_windows SET spent_microusd = spent_microusd + new.microusd, spent_tokens = spent_tokens + new.tokens
       FROM (
         SELECT b.id,
           (SELECT max(w.starts_at) FROM budget_windows w WHERE w.budget_id = b.id AND w.starts_at <= c.at) AS starts_at,
           sum(c.microusd) AS microusd, sum(c.tokens) AS tokens
         FROM (SELECT max(?3, x.reserved_at) AS at, x.agent_id, x.community_id, json_array(u.value ->> 'model') AS models,
             u.value ->> 'costMicrousd' AS microusd, (u.value ->> 'inputTokens') + (u.value ->> 'outputTokens') AS tokens
           FROM activations x, json_each(?2) u
           WHERE x.id = ?1 AND x.state = 'running' AND ${isUnsettledSql}) c
         CROSS JOIN budgets b ON ${paysForSql('b', 'c')}
         GROUP BY b.id) AS new
       WHERE budget_windows.budget_id = new.id AND budget_windows.starts_at = new.starts_at`,
    )
    .bind(spent.activationId, JSON.stringify(spent.usage), spent.now)
