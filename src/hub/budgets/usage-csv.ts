import { writeCsv } from '../web/csv'
import type { UsageChart } from './chart-data'
import type { UseSums } from './usage-queries'
import { type UsageView, writeDay } from './usage-view'

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
export function writeUsageCsv(view: UsageView, chart: UsageChart): string {
  const headers = view.each === 'day' ? ['day_utc'] : ['from_day_utc', 'to_day_utc']
  const rows = chart.buckets.flatMap(({ fromDay, toDay, cells }) => {
    const days =
      view.each === 'day' ? [writeDay(fromDay)] : [writeDay(fromDay), writeDay(toDay - 1)]
    return cells
      .map((cell, place) => [...days, chart.series[place]?.name ?? '', ...writeSums(cell)])
      .filter((_, place) => (cells[place]?.calls ?? 0) > 0)
  })
  return writeCsv([[...headers, view.by, ...sumHeaders], ...rows])
}

const writeSums = (sums: UseSums): (string | number)[] => [
  sums.calls,
  sums.inputTokens,
  sums.cachedTokens,
  sums.outputTokens,
  sums.unpricedTokens,
  sums.unpricedCalls === sums.calls ? '' : (sums.costMicrousd / 1_000_000).toFixed(6),
]
