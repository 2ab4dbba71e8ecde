import { budgetLimits } from '../../config'
import type { AccountId, ActivationId, BudgetId } from '../../ids'
import type { BudgetStatus, Usage } from '../contract'
import type { Db } from '../db'
import type { Period, Window } from './calendar'
import { isWindowOfSql, modelsOfSql, paysForSql, reservedSql, spentSql } from './scope-sql'

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

export const usualThresholds: Thresholds = {
  warningShare: budgetLimits.warningShare,
  throttleShare: budgetLimits.throttleShare,
  criticalShare: budgetLimits.criticalShare,
  allowsCritical: false,
}

/**
 * Creates a budget. Of its scope, period and maker there is one: an admin's second fails with a UNIQUE
 * error, what a definition set before stays as it is.
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

/** The limit in money that the definition of an agent sets; null lifts it. */
export const setDefinedLimit = (
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

/** A budget whose last window ends early; null: it has none. */
export interface ShortBudget extends Period {
  id: string
  endsAt: number | null
}

/**
 * Budgets whose last window ends before `until`, as many as one sweep extends: first those that
 * several agents spend from, then those that end soonest. Reads one window a budget.
 */
export const selectShortBudgets = (db: Db, until: number): D1PreparedStatement =>
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

/** The call `u` is counted in the window `w`, until the next one of its budget begins. */
const isCountedInSql = `u.created_at >= w.starts_at AND u.created_at < coalesce(
  (SELECT min(n.starts_at) FROM budget_windows n WHERE n.budget_id = w.budget_id AND n.starts_at > w.starts_at),
  ${Number.MAX_SAFE_INTEGER})`

/** What the usage events say of the windows that `which` is true of, `b` being their budgets (B11). */
const recountSql = (which: string): string => `
  SELECT w.budget_id, w.starts_at, coalesce(sum(u.cost_microusd), 0) AS microusd,
    coalesce(sum(u.input_tokens + u.output_tokens), 0) AS tokens
  FROM budget_windows w CROSS JOIN budgets b ON b.id = w.budget_id
  LEFT JOIN ${spentSql} u ON ${isCountedInSql} AND ${paysForSql('b', 'u')}
  WHERE ${which} GROUP BY w.budget_id, w.starts_at`

/** Stands in for what was spent in a window until the next statement counts it. */
const uncounted = -1

/**
 * Makes windows that are not there yet, of budgets that are. What was spent since the beginning of
 * one is counted, so a new budget counts from the beginning of its period (B11); and the one before
 * it ends there. Run both in one batch.
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
 * The budgets that an agent spends from, with what is spent in the window that holds now and what
 * running activations have reserved: those of its running activation, and while it sleeps those of
 * any that it may begin. `?1` is the agent, `?2` now.
 */
export const budgetsInScopeSql = `
  SELECT b.id, b.scope, b.scope_id AS scopeId, b.period, b.limit_microusd AS limitMicrousd, b.limit_tokens AS limitTokens,
    b.warning_share AS warningShare, b.throttle_share AS throttleShare, b.critical_share AS criticalShare,
    coalesce(w.spent_microusd, 0) AS spentMicrousd, coalesce(w.spent_tokens, 0) AS spentTokens,
    coalesce(w.ends_at, 0) AS endsAt,
    ${reservedSql('b', 'reserved_microusd')} AS reservedMicrousd,
    ${reservedSql('b', 'reserved_tokens')} AS reservedTokens
  FROM (SELECT me.id AS agent_id, x.community_id, coalesce(x.models, ${modelsOfSql('g')}, '[]') AS models
    FROM (SELECT ?1 AS id) me LEFT JOIN agents g ON g.account_id = me.id
    LEFT JOIN activations x ON x.agent_id = me.id AND x.state = 'running') ask
  CROSS JOIN budgets b ON ${paysForSql('b', 'ask')}
  LEFT JOIN budget_windows w ON ${isWindowOfSql('b', 'w', '?2')}
  ORDER BY b.scope <> 'hub', b.scope, b.scope_id, b.id`

export const selectBudgetsInScope = (
  db: Db,
  agentId: AccountId | '',
  now: number,
): D1PreparedStatement => db.d1.prepare(budgetsInScopeSql).bind(agentId, now)

/** One row of `budgetsInScopeSql`. */
export type BudgetRow = BudgetStatus & { id: BudgetId }

/** Whether the call `u` of the JSON list of usage is not in the books of the activation `?1` yet. */
const isUnsettledSql = `NOT EXISTS (
  SELECT 1 FROM usage_events e WHERE e.activation_id = ?1 AND e.call = u.value ->> 'call')`

/**
 * What the calls in the JSON list `usage` cost that are not in the books yet, as one row: so a call
 * that was settled when its activation was parked is not paid for twice. `?1` is the activation.
 */
export const unsettledSql = (usage: string): string => `
  SELECT coalesce(sum(u.value ->> 'costMicrousd'), 0) AS microusd
  FROM json_each(${usage}) u WHERE ${isUnsettledSql}`

/**
 * Adds what each call of an activation cost to every budget that pays for it, if the activation
 * still runs; goes before the statement that writes the calls down. Where no window holds now, the
 * last one before takes it: what was spent is never left out (B11).
 */
export const settle = (
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
