import type { SeriesDay, UsageSeries, UseSums } from './usage-queries'
import { endOfBucket, listBuckets, startOfBucket, type Unit, type UsageView } from './usage-view'

/** One colour of a chart. */
export interface ChartSeries {
  /** Null: all that are too small to have a colour of their own. */
  id: string | null
  name: string
}

export interface ChartBucket {
  fromDay: number
  /** Just after the last one. */
  toDay: number
  /** What each series used, in the order of the series. */
  cells: UseSums[]
}

export interface UsageChart {
  unit: Unit
  series: ChartSeries[]
  buckets: ChartBucket[]
}

const nothing: UseSums = {
  calls: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  costMicrousd: 0,
  unpricedCalls: 0,
  unpricedTokens: 0,
}

const addSums = (a: UseSums, b: UseSums): UseSums => ({
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costMicrousd: a.costMicrousd + b.costMicrousd,
  unpricedCalls: a.unpricedCalls + b.unpricedCalls,
  unpricedTokens: a.unpricedTokens + b.unpricedTokens,
})

export const amountOf = (sums: UseSums, unit: Unit): number =>
  unit === 'usd' ? sums.costMicrousd : sums.inputTokens + sums.outputTokens

const goneWords = { agent: 'an account that is gone', community: 'in no community' } as const

/** The name of a series, also when it has none: `''` stands for what belongs to no such thing. */
export const nameSeries = ({ id, name }: Pick<UsageSeries, 'id' | 'name'>, by: string): string =>
  name || id || goneWords[by as keyof typeof goneWords] || 'unknown'

/**
 * The series of a view, the greatest first as in its table: a colour stays with its agent while days,
 * weeks and months of a span are looked at, in money or in tokens. What has no colour comes last.
 */
function listSeries(view: UsageView, rows: UsageSeries[], days: SeriesDay[]): ChartSeries[] {
  const ids = new Set(days.map(({ id }) => id))
  const named = rows
    .filter(({ id }) => ids.has(id))
    .map((row) => ({ id: row.id as string | null, name: nameSeries(row, view.by) }))
  const hasOthers = days.some(({ id, day }) => id === null && day >= view.fromDay)
  return hasOthers ? [...named, { id: null, name: 'others' }] : named
}

/** Adds up days into the given buckets; days outside are left out. */
function fill(
  starts: number[],
  each: UsageView['each'],
  series: ChartSeries[],
  days: SeriesDay[],
): ChartBucket[] {
  const places = new Map(series.map(({ id }, place) => [id, place]))
  const byStart = new Map<number, ChartBucket>()
  for (const start of starts) {
    const cells = series.map(() => nothing)
    byStart.set(start, { fromDay: start, toDay: endOfBucket(start, each), cells })
  }
  for (const day of days) {
    const cells = byStart.get(startOfBucket(day.day, each))?.cells
    const place = places.get(day.id)
    const before = place === undefined ? undefined : cells?.[place]
    if (cells && place !== undefined && before) cells[place] = addSums(before, day)
  }
  return [...byStart.values()]
}

/** What was used over time, stacked. In tokens when nothing in it has a price. */
export function composeChart(view: UsageView, rows: UsageSeries[], days: SeriesDay[]): UsageChart {
  const series = listSeries(view, rows, days)
  const within = days.filter(({ day }) => day >= view.fromDay)
  const buckets = fill(listBuckets(view), view.each, series, within)
  const isFree = within.every(({ costMicrousd }) => costMicrousd === 0)
  return { unit: view.unit ?? (isFree && within.length > 0 ? 'tokens' : 'usd'), series, buckets }
}

/** What was used day by day from `fromDay` until today, each day with all days before it. */
export function composeSoFar(
  view: UsageView,
  series: ChartSeries[],
  days: SeriesDay[],
  fromDay: number,
): ChartBucket[] {
  const starts = Array.from({ length: view.today - fromDay + 1 }, (_, index) => fromDay + index)
  const daily = fill(starts, 'day', series, days)
  let before = series.map(() => nothing)
  return daily.map((bucket) => {
    before = bucket.cells.map((cell, place) => addSums(cell, before[place] ?? nothing))
    return { ...bucket, cells: before }
  })
}

/** Round numbers from 0 up to at least `max`, four to six of them. */
export function listTicks(max: number): number[] {
  if (max <= 0) return [0, 1]
  const raw = max / 5
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, index) => index * step)
}
