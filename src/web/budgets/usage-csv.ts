import type { UsageTotals } from '../../hub/budgets/usage-queries'
import { formatIsoDay, type UsageView } from '../../hub/budgets/usage-view'
import { formatCsv } from '../parts/csv'
import type { UsageChart } from './chart-data'

const sumHeaders = [
  'calls',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'unpriced_tokens',
  'cost_usd',
] as const

/**
 * Returns the numbers of a chart as CSV, with a line for each bucket and series that has calls. Cost is
 * in dollars to the micro-dollar, and empty where no call has a price.
 */
export function formatUsageCsv(view: UsageView, chart: UsageChart): string {
  const headers = view.each === 'day' ? ['day_utc'] : ['from_day_utc', 'to_day_utc']
  const rows = chart.buckets.flatMap(({ fromDay, toDay, cells }) => {
    const days =
      view.each === 'day'
        ? [formatIsoDay(fromDay)]
        : [formatIsoDay(fromDay), formatIsoDay(toDay - 1)]
    return cells
      .map((cell, place) => [...days, chart.series[place]?.name ?? '', ...writeSums(cell)])
      .filter((_, place) => (cells[place]?.calls ?? 0) > 0)
  })
  return formatCsv([[...headers, view.by, ...sumHeaders], ...rows])
}

const writeSums = (sums: UsageTotals): (string | number)[] => [
  sums.calls,
  sums.inputTokens,
  sums.cachedTokens,
  sums.outputTokens,
  sums.unpricedTokens,
  sums.unpricedCalls === sums.calls ? '' : (sums.costMicrousd / 1_000_000).toFixed(6),
]
