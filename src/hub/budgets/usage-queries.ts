import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { usageCharts } from '../../shared/config'
import { number, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'
import { bare } from '../../shared/db/write-sql'
import { isShownSql } from '../communities/readable-sql'
import type { AccountKind } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { usageDays } from '../schema/budgets'
import { communities } from '../schema/communities'
import type { Reader } from '../viewers/reader'
import type { UsageDimension, UsageView } from './usage-view'

const u = alias(usageDays, 'u')

/** The columns of days that are summed. */
const summed = {
  calls: u.calls,
  inputTokens: u.inputTokens,
  cachedTokens: u.cachedTokens,
  outputTokens: u.outputTokens,
  costMicrousd: u.costMicrousd,
  unpricedCalls: u.unpricedCalls,
  unpricedTokens: u.unpricedTokens,
}

type SumName = keyof typeof summed

/** Usage sums of a day, a series, or both. */
export type UsageTotals = Record<SumName, number>

/** A field for each sum. */
const sumFields = (
  toSql: (column: (typeof summed)[SumName]) => SQL,
): Record<SumName, SQL<number>> =>
  Object.fromEntries(
    Object.entries(summed).map(([name, column]) => [name, number(toSql(column))]),
  ) as Record<SumName, SQL<number>>

const totalOf = sumFields((column) => sql`total(${column})`)

/** The cost of today, and of the last seven days. */
const recentFields = (today: Params<{ today: number }>['today']) => ({
  todayMicrousd: number(sql`total(iif(${u.day} = ${today}, ${u.costMicrousd}, 0))`),
  weekMicrousd: number(sql`total(iif(${u.day} > ${today} - 7, ${u.costMicrousd}, 0))`),
})

const greatestFirst = sql`sum(${u.costMicrousd}) DESC, sum(${u.inputTokens} + ${u.outputTokens}) DESC, ${u.scopeId}`

type ViewParams = Params<Pick<UsageView, 'by' | 'fromDay' | 'toDay' | 'today'> & { reader: Reader }>

/** The series of a row of days. All communities together that the reader does not read are one. */
const seriesId = ({ by, reader }: Pick<ViewParams, 'by' | 'reader'>): SQL<string> =>
  sql`iif(${by} <> 'community' OR ${u.scopeId} = '' OR ${isShownSql(u.scopeId, reader)}, ${u.scopeId}, 'private')`

const greatest = (v: Omit<ViewParams, 'today'>, count: number, columns: SQL): SQL => sql`
  SELECT ${seriesId(v)} AS id${columns} FROM ${usageDays} ${u}
  WHERE ${u.scope} = ${v.by} AND ${u.day} >= ${v.fromDay} AND ${u.day} < ${v.toDay}
  GROUP BY 1 ORDER BY ${greatestFirst} LIMIT ${sql.raw(String(count))}`

interface Naming {
  name: SQL<string | null>
  kind: SQL<AccountKind | null>
  join?: SQL
}

const ownName: Naming = { name: sql`s.id`, kind: sql`NULL` }
const namings: Record<UsageDimension, Naming> = {
  agent: {
    name: sql`n.name`,
    kind: sql`n.kind`,
    join: sql`LEFT JOIN ${accounts} n ON n.id = s.id`,
  },
  community: {
    name: sql`'m/' || n.name`,
    kind: sql`NULL`,
    join: sql`LEFT JOIN ${communities} n ON n.id = s.id`,
  },
  model: ownName,
  task: ownName,
  executor: ownName,
  provider: ownName,
}

const seriesFields = ({ name, kind }: Naming) => ({
  /** Account or community id, model, task or executor; '' for none, `private` for communities that are not read. */
  id: sql<string>`s.id`,
  /** Null when deleted, and for `private`. */
  name,
  /** Kind of an account; null for other dimensions. */
  kind,
  ...sumFields((column) => sql`s.${bare(column)}`),
  todayMicrousd: sql<number>`s.today_microusd`,
  weekMicrousd: sql<number>`s.week_microusd`,
})

/** Usage of one agent, model, task, community or executor in a span of days. */
export type UsageSeries = RowOf<ReturnType<typeof seriesFields>>

/** Selects series with their sums, greatest first. Reads daily sums instead of model calls. */
const prepareSeries = (naming: Naming) =>
  prepare((v: ViewParams) => {
    const recent = recentFields(v.today)
    const sums = Object.values(summed).map((column) => sql`, total(${column}) AS ${bare(column)}`)
    const columns = sql`${sql.join(sums)}, ${recent.todayMicrousd} AS today_microusd,
      ${recent.weekMicrousd} AS week_microusd`
    return manySql(
      seriesFields(naming),
      sql`FROM (${greatest(v, usageCharts.tableRowsMax, columns)}) s ${naming.join}
        ORDER BY s.cost_microusd DESC, s.input_tokens + s.output_tokens DESC, s.id`,
    )
  })

const selectSeries = Object.fromEntries(
  Object.entries(namings).map(([by, naming]) => [by, prepareSeries(naming)]),
) as Record<UsageDimension, ReturnType<typeof prepareSeries>>

/** Usage of a series on a day; `id` is null for the sum of all series beyond the greatest. */
const dayFields = (v: Pick<ViewParams, 'by' | 'reader'>) => ({
  day: u.day,
  id: sql<string | null>`iif(${seriesId(v)} IN top, ${seriesId(v)}, NULL)`,
  ...totalOf,
})
export type SeriesDay = RowOf<ReturnType<typeof dayFields>>

/** Selects the days of the greatest series of a view, from `sinceDay` on. */
const selectSeriesDays = prepare((v: Omit<ViewParams, 'today'> & Params<{ sinceDay: number }>) =>
  manySql(
    dayFields(v),
    sql`FROM ${usageDays} ${u}
        WHERE ${u.scope} = ${v.by} AND ${u.day} >= ${v.sinceDay} AND ${u.day} < ${v.toDay}
        GROUP BY 1, 2 ORDER BY 1`,
    sql`WITH top AS MATERIALIZED (${greatest(v, usageCharts.seriesMax, sql``)})`,
  ),
)

/** The total of a view. */
export type UsageTotal = Omit<UsageSeries, 'id' | 'name' | 'kind'>

const selectTotal = prepare((v: Omit<ViewParams, 'by' | 'reader'>) =>
  oneSql(
    { ...totalOf, ...recentFields(v.today) },
    sql`FROM ${usageDays} ${u} WHERE ${u.scope} = 'hub' AND ${u.day} >= ${v.fromDay} AND ${u.day} < ${v.toDay}`,
  ),
)

/** Days of the longest budget window, which the cumulative chart shows from its start. */
const windowDaysMax = 31

/** Selects the usage that the page and its CSV show. */
export function usageViewStatements({ by, fromDay, toDay, today }: UsageView, reader: Reader) {
  const sinceDay = toDay > today ? Math.min(fromDay, today - windowDaysMax) : fromDay
  return {
    series: selectSeries[by]({ by, fromDay, toDay, today, reader }),
    total: selectTotal({ fromDay, toDay, today }),
    days: selectSeriesDays({ by, fromDay, toDay, sinceDay, reader }),
  }
}
