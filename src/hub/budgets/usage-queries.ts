import { budgetForecast, usageCharts } from '../../shared/config'
import { activationColumns } from '../activations/page-queries'
import type { AccountKind } from '../contract/hub'
import type { Db } from '../db'
import type { DailyUsage } from './forecast'
import type { UsageDimension, UsageView } from './usage-view'

/** Usage sums of a day, a series, or both. */
export interface UsageTotals {
  calls: number
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  costMicrousd: number
  unpricedCalls: number
  unpricedTokens: number
}

const sums = `
  sum(u.calls) AS calls, sum(u.input_tokens) AS inputTokens, sum(u.cached_tokens) AS cachedTokens,
  sum(u.output_tokens) AS outputTokens, sum(u.cost_microusd) AS costMicrousd,
  sum(u.unpriced_calls) AS unpricedCalls, sum(u.unpriced_tokens) AS unpricedTokens`

const greatestFirst =
  'sum(u.cost_microusd) DESC, sum(u.input_tokens + u.output_tokens) DESC, u.scope_id'

/** Usage of one agent, model, task, community or executor in a span of days. */
export interface UsageSeries extends UsageTotals {
  /** Account or community id, model, task or executor; '' for none. */
  id: string
  /** Null when deleted. */
  name: string | null
  /** Kind of an account; null for other dimensions. */
  kind: AccountKind | null
  todayMicrousd: number
  weekMicrousd: number
}

const names: Record<UsageDimension, { columns: string; join: string }> = {
  agent: { columns: 'n.name, n.kind', join: 'LEFT JOIN accounts n ON n.id = s.id' },
  community: {
    columns: `'m/' || n.name AS name, NULL AS kind`,
    join: 'LEFT JOIN communities n ON n.id = s.id',
  },
  model: { columns: 's.id AS name, NULL AS kind', join: '' },
  task: { columns: 's.id AS name, NULL AS kind', join: '' },
  executor: { columns: 's.id AS name, NULL AS kind', join: '' },
  provider: { columns: 's.id AS name, NULL AS kind', join: '' },
}

/** Selects series with their sums, greatest first. Reads daily sums instead of model calls. */
const selectSeries = (db: Db, view: UsageView): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT s.*, ${names[view.by].columns} FROM (
         SELECT u.scope_id AS id, ${sums},
           sum(iif(u.day = ?4, u.cost_microusd, 0)) AS todayMicrousd,
           sum(iif(u.day > ?4 - 7, u.cost_microusd, 0)) AS weekMicrousd
         FROM usage_days u WHERE u.scope = ?1 AND u.day >= ?2 AND u.day < ?3
         GROUP BY u.scope_id ORDER BY ${greatestFirst} LIMIT ${usageCharts.tableRowsMax}) s
       ${names[view.by].join} ORDER BY s.costMicrousd DESC, s.inputTokens + s.outputTokens DESC, s.id`,
    )
    .bind(view.by, view.fromDay, view.toDay, view.today)

/** Usage of a series on a day; `id` is null for the sum of all series beyond the greatest. */
export interface SeriesDay extends UsageTotals {
  day: number
  id: string | null
}

/** Selects the days of the greatest series of a view, from `sinceDay` on. */
const selectSeriesDays = (db: Db, view: UsageView, sinceDay: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH top AS MATERIALIZED (
         SELECT u.scope_id AS id FROM usage_days u WHERE u.scope = ?1 AND u.day >= ?2 AND u.day < ?3
         GROUP BY u.scope_id ORDER BY ${greatestFirst} LIMIT ${usageCharts.seriesMax})
       SELECT u.day, iif(u.scope_id IN top, u.scope_id, NULL) AS id, ${sums} FROM usage_days u
       WHERE u.scope = ?1 AND u.day >= ?4 AND u.day < ?3 GROUP BY 1, 2 ORDER BY 1`,
    )
    .bind(view.by, view.fromDay, view.toDay, sinceDay)

const selectTotal = (db: Db, view: UsageView): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${sums},
         sum(iif(u.day = ?3, u.cost_microusd, 0)) AS todayMicrousd,
         sum(iif(u.day > ?3 - 7, u.cost_microusd, 0)) AS weekMicrousd
       FROM usage_days u WHERE u.scope = 'hub' AND u.day >= ?1 AND u.day < ?2`,
    )
    .bind(view.fromDay, view.toDay, view.today)

/** The total of a view; every sum is null without usage. */
export type UsageTotal = Omit<UsageSeries, 'id' | 'name' | 'kind'>

/** Days of the longest budget window, which the cumulative chart shows from its start. */
const windowDaysMax = 31

/** Returns the statements for the page and its CSV, in this order: series, total, days of the series. */
export function usageViewStatements(db: Db, view: UsageView): D1PreparedStatement[] {
  const isCurrent = view.toDay > view.today
  const sinceDay = isCurrent ? Math.min(view.fromDay, view.today - windowDaysMax) : view.fromDay
  return [selectSeries(db, view), selectTotal(db, view), selectSeriesDays(db, view, sinceDay)]
}

/** Usage that a budget paid for on a day. */
export interface BudgetDay extends DailyUsage {
  budgetId: string
}

/**
 * Selects the days that budget forecasts are computed from, with one index lookup per budget and day.
 * A budget of an executor reads the days of the provider.
 */
export const selectBudgetDays = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH RECURSIVE days (day) AS (
         SELECT ?1 UNION ALL SELECT day - 1 FROM days WHERE day > ?1 - ${budgetForecast.shapeWeeksMax * 7})
       SELECT b.id AS budgetId, u.day, u.cost_microusd AS microusd, u.input_tokens + u.output_tokens AS tokens
       FROM budgets b CROSS JOIN days CROSS JOIN usage_days u
       WHERE u.day = days.day AND u.scope_id = b.scope_id
         AND u.scope = iif(b.scope = 'executor', 'provider', b.scope)`,
    )
    .bind(Math.floor(now / 86_400_000))

export const selectLatestActivations = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT ${activationColumns} FROM activations x JOIN accounts a ON a.id = x.agent_id
     LEFT JOIN posts p ON p.id = x.post_id ORDER BY x.started_at DESC, x.id DESC LIMIT 15`,
  )
