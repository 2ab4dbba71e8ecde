import type { AccountKind } from '../contract'
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

export const usageGroups = ['agent', 'model', 'task', 'day'] as const
export type UsageGroup = (typeof usageGroups)[number]

/** Usage of one group, or of all of them: then `key` is null. */
export interface UsageSums {
  /** Account id, model, task, or day (UTC). */
  key: string | null
  /** Of an agent. */
  name: string | null
  kind: AccountKind | null
  calls: number
  estimatedCalls: number
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  reasoningTokens: number
  costMicrousd: number
  /** Tokens of models without a price (B7). */
  unpricedTokens: number
}

const groupKeys: Record<UsageGroup, string> = {
  agent: 'u.account_id',
  model: 'u.model',
  task: 'u.task',
  day: `date(u.created_at / 1000, 'unixepoch')`,
}

const sums = `
  count(*) AS calls, coalesce(sum(u.is_estimated), 0) AS estimatedCalls,
  coalesce(sum(u.input_tokens), 0) AS inputTokens,
  coalesce(sum(u.cached_tokens), 0) AS cachedTokens,
  coalesce(sum(u.output_tokens), 0) AS outputTokens,
  coalesce(sum(u.reasoning_tokens), 0) AS reasoningTokens,
  coalesce(sum(u.cost_microusd), 0) AS costMicrousd,
  coalesce(sum(iif(u.is_priced, 0, u.input_tokens + u.output_tokens)), 0) AS unpricedTokens`

/** Usage from `from` until just before `to`: by group, and all of it. */
export function usageStatements(
  db: Db,
  group: UsageGroup,
  from: number,
  to: number,
): D1PreparedStatement[] {
  const isAgent = group === 'agent'
  const order = group === 'day' ? 'key' : 'costMicrousd DESC, inputTokens + outputTokens DESC, key'
  const during = 'u.created_at >= ?1 AND u.created_at < ?2'
  const statements = [
    `SELECT ${groupKeys[group]} AS key, ${isAgent ? 'a.name, a.kind' : 'NULL AS name, NULL AS kind'}, ${sums}
     FROM usage_events u ${isAgent ? 'LEFT JOIN accounts a ON a.id = u.account_id' : ''}
     WHERE ${during} GROUP BY key ORDER BY ${order} LIMIT 1000`,
    `SELECT NULL AS key, NULL AS name, NULL AS kind, ${sums} FROM usage_events u WHERE ${during}`,
  ]
  return statements.map((sql) => db.d1.prepare(sql).bind(from, to))
}
