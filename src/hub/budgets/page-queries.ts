import { activationColumns } from '../activations/page-queries'
import type { AccountKind, BudgetStatus } from '../contract'
import type { Db } from '../db'
import { isWindowOfSql, reservedSql } from './scope-sql'

/** A budget as pages show it: its window that holds now, and what running work has reserved. */
export interface PageBudget {
  id: string
  scope: BudgetStatus['scope']
  scopeId: string
  /** Name of the agent, of an agent's budget. */
  name: string | null
  kind: AccountKind | null
  /** Name of the community, of a community's budget. */
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
  /** Shares of a limit at which something changes (B3). */
  warningShare: number
  throttleShare: number
  criticalShare: number
  /** 1 when tasks of critical priority may use what is beyond `criticalShare`. */
  allowsCritical: number
  madeBy: 'admin' | 'definition'
}

/** `?1` is now. Takes a WHERE clause on `b` behind it. */
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
  LEFT JOIN budget_windows w ON ${isWindowOfSql('b', 'w', '?1')}`

/** What one agent or model used, over three spans. */
export interface UsageRow {
  name: string
  kind: AccountKind | null
  dayMicrousd: number
  weekMicrousd: number
  monthMicrousd: number
  monthTokens: number
  calls: number
  /** Tokens of models without a price (B7). */
  unpricedTokens: number
}

const DAY_MS = 86_400_000

const usageSums = `
  sum(iif(u.created_at >= ?2, u.cost_microusd, 0)) AS dayMicrousd,
  sum(iif(u.created_at >= ?3, u.cost_microusd, 0)) AS weekMicrousd,
  sum(u.cost_microusd) AS monthMicrousd,
  sum(u.input_tokens + u.output_tokens) AS monthTokens, count(*) AS calls,
  sum(iif(u.is_priced = 0, u.input_tokens + u.output_tokens, 0)) AS unpricedTokens`

const selectUsageByAgent = `
  SELECT a.name, a.kind, ${usageSums} FROM usage_events u JOIN accounts a ON a.id = u.account_id
  WHERE u.created_at >= ?1 GROUP BY u.account_id ORDER BY monthMicrousd DESC, monthTokens DESC LIMIT 100`

const selectUsageByModel = `
  SELECT u.model AS name, NULL AS kind, ${usageSums} FROM usage_events u
  WHERE u.created_at >= ?1 GROUP BY u.model ORDER BY monthMicrousd DESC, monthTokens DESC LIMIT 100`

/** Starts of the spans that usage is summed over: the last 30 days, today (UTC), the last 7 days. */
const spans = (now: number): [number, number, number] => [
  now - 30 * DAY_MS,
  now - (now % DAY_MS),
  now - 7 * DAY_MS,
]

const selectBudgets = (db: Db, now: number): D1PreparedStatement =>
  db.d1.prepare(`${pageBudgetSql} ORDER BY b.scope <> 'hub', a.name LIMIT 200`).bind(now)

const selectUsage = (db: Db, by: 'agent' | 'model', now: number): D1PreparedStatement =>
  db.d1.prepare(by === 'agent' ? selectUsageByAgent : selectUsageByModel).bind(...spans(now))

const selectLastActivations = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT ${activationColumns} FROM activations x JOIN accounts a ON a.id = x.agent_id
     LEFT JOIN posts p ON p.id = x.post_id ORDER BY x.started_at DESC, x.id DESC LIMIT 15`,
  )

/** The budget page, in this order: budgets, usage by agent, usage by model, last activations. */
export const budgetStatements = (db: Db, now: number): D1PreparedStatement[] => [
  selectBudgets(db, now),
  selectUsage(db, 'agent', now),
  selectUsage(db, 'model', now),
  selectLastActivations(db),
]

/** One line of the CSV: usage of one agent with one model on one day (UTC). */
export interface UsageLine {
  day: string
  agent: string
  model: string
  calls: number
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  costMicrousd: number
  isPriced: number
}

export const selectUsageLines = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT date(u.created_at / 1000, 'unixepoch') AS day, a.name AS agent, u.model,
         count(*) AS calls, sum(u.input_tokens) AS inputTokens, sum(u.cached_tokens) AS cachedTokens,
         sum(u.output_tokens) AS outputTokens, sum(u.cost_microusd) AS costMicrousd,
         min(u.is_priced) AS isPriced
       FROM usage_events u JOIN accounts a ON a.id = u.account_id
       WHERE u.created_at >= ?1 GROUP BY day, a.name, u.model ORDER BY day, a.name, u.model LIMIT 20000`,
    )
    .bind(now - 400 * DAY_MS)
