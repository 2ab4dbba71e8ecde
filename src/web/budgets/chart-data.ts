import type { SeriesDay, UsageSeries, UsageTotals } from '../../hub/budgets/usage-queries'
import {
  endOfBucket,
  listBuckets,
  startOfBucket,
  type Unit,
  type UsageView,
} from '../../hub/budgets/usage-view'
import { privateCommunityLabel } from '../../hub/communities/visibility-labels'

/** A series of a chart, drawn in one colour. */
export interface ChartSeries {
  /** Null: the sum of all series that are too small for a colour of their own. */
  id: string | null
  name: string
}

export interface ChartBucket {
  fromDay: number
  /** Exclusive. */
  toDay: number
  /** Usage by series, in the order of the series. */
  cells: UsageTotals[]
}

export interface UsageChart {
  unit: Unit
  series: ChartSeries[]
  buckets: ChartBucket[]
}

const zeroSums: UsageTotals = {
  calls: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  costMicrousd: 0,
  unpricedCalls: 0,
  unpricedTokens: 0,
}

const addSums = (a: UsageTotals, b: UsageTotals): UsageTotals => ({
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costMicrousd: a.costMicrousd + b.costMicrousd,
  unpricedCalls: a.unpricedCalls + b.unpricedCalls,
  unpricedTokens: a.unpricedTokens + b.unpricedTokens,
})

export const toAmount = (sums: UsageTotals, unit: Unit): number =>
  unit === 'usd' ? sums.costMicrousd : sums.inputTokens + sums.outputTokens

const missingNames = { agent: 'deleted account', community: 'no community' } as const

/** Returns the name of a series, with a fallback for deleted accounts and for no community. */
export const formatSeriesName = (
  { id, name }: Pick<UsageSeries, 'id' | 'name'>,
  by: string,
): string =>
  name ||
  (by === 'community' && id ? privateCommunityLabel : id) ||
  missingNames[by as keyof typeof missingNames] ||
  'unknown'

/**
 * Lists the series of a view, greatest first as in its table. The order doesn't depend on bucket or
 * unit, so that a series keeps its colour. The sum of all others comes last.
 */
function listSeries(view: UsageView, rows: UsageSeries[], days: SeriesDay[]): ChartSeries[] {
  const ids = new Set(days.map(({ id }) => id))
  const named = rows
    .filter(({ id }) => ids.has(id))
    .map((row) => ({ id: row.id as string | null, name: formatSeriesName(row, view.by) }))
  const hasOthers = days.some(({ id, day }) => id === null && day >= view.fromDay)
  return hasOthers ? [...named, { id: null, name: 'others' }] : named
}

/** Sums days into the given buckets; days outside of them are ignored. */
function fillBuckets(
  starts: number[],
  each: UsageView['each'],
  series: ChartSeries[],
  days: SeriesDay[],
): ChartBucket[] {
  const indexes = new Map(series.map(({ id }, index) => [id, index]))
  const byStart = new Map<number, ChartBucket>()
  for (const start of starts) {
    const cells = series.map(() => zeroSums)
    byStart.set(start, { fromDay: start, toDay: endOfBucket(start, each), cells })
  }
  for (const day of days) {
    const cells = byStart.get(startOfBucket(day.day, each))?.cells
    const index = indexes.get(day.id)
    const sums = index === undefined ? undefined : cells?.[index]
    if (cells && index !== undefined && sums) cells[index] = addSums(sums, day)
  }
  return [...byStart.values()]
}

/** Returns a stacked chart of usage over time, in tokens when no usage in it has a price. */
export function composeChart(view: UsageView, rows: UsageSeries[], days: SeriesDay[]): UsageChart {
  const series = listSeries(view, rows, days)
  const within = days.filter(({ day }) => day >= view.fromDay)
  const buckets = fillBuckets(listBuckets(view), view.each, series, within)
  const isFree = within.every(({ costMicrousd }) => costMicrousd === 0)
  return { unit: view.unit ?? (isFree && within.length > 0 ? 'tokens' : 'usd'), series, buckets }
}

/** Returns cumulative usage by day, from `fromDay` until today. */
export function composeCumulativeBuckets(
  view: UsageView,
  series: ChartSeries[],
  days: SeriesDay[],
  fromDay: number,
): ChartBucket[] {
  const starts = Array.from({ length: view.today - fromDay + 1 }, (_, index) => fromDay + index)
  const daily = fillBuckets(starts, 'day', series, days)
  let before = series.map(() => zeroSums)
  return daily.map((bucket) => {
    before = bucket.cells.map((cell, index) => addSums(cell, before[index] ?? zeroSums))
    return { ...bucket, cells: before }
  })
}

/** Lists four to six round axis values from 0 up to at least `max`. */
export function listTicks(max: number): number[] {
  if (max <= 0) return [0, 1]
  const raw = max / 5
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, index) => index * step)
}
