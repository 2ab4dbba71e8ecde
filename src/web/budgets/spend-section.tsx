import type { FC } from 'hono/jsx'
import type { PageBudget } from '../../hub/budgets/page-queries'
import type { UsageSeries, UsageTotal } from '../../hub/budgets/usage-queries'
import type { UsageView } from '../../hub/budgets/usage-view'
import { isOfflineModel } from '../../hub/traces/run-labels'
import { formatCount, formatPlural } from '../../shared/format'
import { type Bar, Chart } from './chart'
import { toAmount, type UsageChart } from './chart-data'
import { Legend } from './chart-legend'
import { formatAmount, formatBucket, formatFullDay, formatTick } from './format-chart'
import { SpendControls } from './spend-controls'
import { BucketTable, SeriesTable } from './spend-tables'

export interface SpendProps {
  view: UsageView
  chart: UsageChart
  rows: UsageSeries[]
  total: UsageTotal | undefined
  /** All budgets; hub limits of the same period as a bar are drawn. */
  budgets: PageBudget[]
}

/** Shows usage over time as a chart with its options and numbers. */
export const SpendSection: FC<SpendProps> = (props) => {
  const { view, chart, rows, total } = props
  return (
    <section class="block" id="spend">
      <h2>
        Spent by {view.each}{' '}
        <span class="meta">
          {formatFullDay(view.fromDay)} to {formatFullDay(view.toDay - 1)}, in UTC
        </span>
      </h2>
      <SpendControls view={view} unit={chart.unit} />
      {total && total.calls > 0 ? (
        <>
          <SpendChart {...props} />
          <Legend series={chart.series} by={view.by} />
          <SeriesTable view={view} rows={rows} total={total} chart={chart} />
          <details class="up3">
            <summary class="meta">Numbers by {view.each}</summary>
            <BucketTable view={view} chart={chart} />
          </details>
          <UnpricedNote rows={rows} total={total} />
        </>
      ) : (
        <NoUsage view={view} />
      )}
    </section>
  )
}

/** Returns the indexes of bars with an axis label: every few bars, and the last. */
function listTickIndexes(count: number): Set<number> {
  const step = Math.max(1, Math.ceil(count / 4))
  const indexes = new Set<number>()
  for (let index = count - 1; index >= 0; index -= step) indexes.add(index)
  return indexes
}

const SpendChart: FC<SpendProps> = ({ view, chart, budgets }) => {
  const ticked = listTickIndexes(chart.buckets.length)
  const bars: Bar[] = chart.buckets.map((bucket, index) => ({
    label: formatBucket(bucket, view.each),
    tick: ticked.has(index) ? formatTick(bucket.fromDay, view.each) : null,
    values: bucket.cells.map((cell) => toAmount(cell, chart.unit)),
  }))
  const sum = bars.flatMap(({ values }) => values).reduce((total, value) => total + value, 0)
  return (
    <Chart
      label={`Spent by ${view.each} and ${view.by}, ${formatFullDay(view.fromDay)} to ${formatFullDay(view.toDay - 1)}: ${formatAmount(sum, chart.unit)}. The tables below have the same numbers.`}
      unit={chart.unit}
      series={chart.series.map(({ name }) => name)}
      hasOthers={chart.series.at(-1)?.id === null}
      bars={bars}
      levels={listLimits(view, chart, budgets)}
    />
  )
}

/** Lists the hub limits whose period equals a bar: daily limits on days, monthly limits on months. */
function listLimits(view: UsageView, { unit }: UsageChart, budgets: PageBudget[]) {
  return budgets
    .filter(({ scope, period }) => scope === 'hub' && period === view.each)
    .map((budget) => (unit === 'usd' ? budget.limitMicrousd : budget.limitTokens))
    .filter((limit) => limit !== null)
    .map((at) => ({
      at,
      kind: 'limit' as const,
      label: `hub limit ${formatAmount(at, unit)} a ${view.each}`,
    }))
}

const UnpricedNote: FC<{ rows: UsageSeries[]; total: UsageTotal }> = ({ rows, total }) => {
  const isOffline = rows.some(({ id }) => isOfflineModel(id) || id === 'offline')
  return (
    <p class="meta">
      Days, weeks and months are counted in UTC.
      {isOffline && ' The built-in offline model runs here and costs nothing.'}
      {total.unpricedTokens > 0 &&
        ` ${formatCount(total.unpricedTokens)} tokens of ${formatPlural(total.unpricedCalls, 'call', 'calls')} have no price. They are counted in tokens only and are not free.`}
    </p>
  )
}

const NoUsage: FC<{ view: UsageView }> = ({ view }) => (
  <div class="empty">
    <p>
      <strong>No usage {view.toDay > view.today ? 'yet' : 'in this period'}.</strong>
      Mention an agent in a post to see its usage and cost here.
    </p>
  </div>
)
