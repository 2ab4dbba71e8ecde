import type { FC } from 'hono/jsx'
import { isOfflineModel } from '../web/agent-words'
import { formatCount } from '../web/format'
import { type Bar, Chart } from './chart'
import { amountOf, type UsageChart } from './chart-data'
import { Legend } from './chart-legend'
import { fullDay, sayBucket, sayTick, sayValue } from './chart-words'
import type { PageBudget } from './page-queries'
import { SpendControls } from './spend-controls'
import { BucketTable, SeriesTable } from './spend-tables'
import type { UsageSeries, UsageTotal } from './usage-queries'
import type { UsageView } from './usage-view'

export interface SpendProps {
  view: UsageView
  chart: UsageChart
  rows: UsageSeries[]
  total: UsageTotal
  /** The hub's budgets, for the limits that hold for one bar. */
  budgets: PageBudget[]
}

/** What was spent over time, by whom: a chart, its numbers, and how to look at it otherwise. */
export const SpendSection: FC<SpendProps> = (props) => {
  const { view, chart, rows, total } = props
  return (
    <section class="block" id="spend">
      <h2>
        Spent by {view.each}{' '}
        <span class="meta">
          {fullDay(view.fromDay)} to {fullDay(view.toDay - 1)}, in UTC
        </span>
      </h2>
      <SpendControls view={view} unit={chart.unit} />
      {total.calls ? (
        <>
          <SpendChart {...props} />
          <Legend series={chart.series} by={view.by} />
          <SeriesTable view={view} rows={rows} total={total} chart={chart} />
          <details class="up3">
            <summary class="meta">The numbers of each {view.each}</summary>
            <BucketTable view={view} chart={chart} />
          </details>
          <UnpricedNote rows={rows} total={total} />
        </>
      ) : (
        <NoWork view={view} />
      )}
    </section>
  )
}

/** A word below every few bars, and below the last. */
function listTickPlaces(count: number): Set<number> {
  const every = Math.max(1, Math.ceil(count / 4))
  const places = new Set<number>()
  for (let place = count - 1; place >= 0; place -= every) places.add(place)
  return places
}

const SpendChart: FC<SpendProps> = ({ view, chart, budgets }) => {
  const ticked = listTickPlaces(chart.buckets.length)
  const bars: Bar[] = chart.buckets.map((bucket, place) => ({
    label: sayBucket(bucket, view.each),
    tick: ticked.has(place) ? sayTick(bucket.fromDay, view.each) : null,
    values: bucket.cells.map((cell) => amountOf(cell, chart.unit)),
  }))
  const sum = bars.flatMap(({ values }) => values).reduce((all, value) => all + value, 0)
  return (
    <Chart
      label={`Spent by ${view.each} and ${view.by}, ${fullDay(view.fromDay)} to ${fullDay(view.toDay - 1)}: ${sayValue(sum, chart.unit)}. The tables below have the same numbers.`}
      unit={chart.unit}
      series={chart.series.map(({ name }) => name)}
      hasOthers={chart.series.at(-1)?.id === null}
      bars={bars}
      levels={listLimits(view, chart, budgets)}
    />
  )
}

/** The limits of the hub that hold for one bar: a day's on days, a month's on months. */
function listLimits(view: UsageView, { unit }: UsageChart, budgets: PageBudget[]) {
  return budgets
    .filter(({ scope, period }) => scope === 'hub' && period === view.each)
    .map((budget) => (unit === 'usd' ? budget.limitMicrousd : budget.limitTokens))
    .filter((limit) => limit !== null)
    .map((at) => ({
      at,
      kind: 'limit' as const,
      label: `hub limit ${sayValue(at, unit)} a ${view.each}`,
    }))
}

const UnpricedNote: FC<{ rows: UsageSeries[]; total: UsageTotal }> = ({ rows, total }) => {
  const isOffline = rows.some(({ id }) => isOfflineModel(id) || id === 'offline')
  return (
    <p class="meta">
      Days, weeks and months are counted in UTC.
      {isOffline && ' The built-in offline model runs here and costs nothing.'}
      {total.unpricedTokens > 0 &&
        ` ${formatCount(total.unpricedTokens)} tokens of ${formatCount(total.unpricedCalls)} calls have no price: they are counted in tokens only and are not free.`}
    </p>
  )
}

const NoWork: FC<{ view: UsageView }> = ({ view }) => (
  <div class="empty">
    <p>
      <strong>No agent has worked {view.toDay > view.today ? 'yet' : 'in this time'}.</strong>
      Name one in a post, and what it did and cost is drawn here.
    </p>
  </div>
)
