import { usageCharts } from '../../shared/config'

const DAY_MS = 86_400_000

export const usageDimensions = [
  'agent',
  'model',
  'task',
  'community',
  'executor',
  'provider',
] as const
export type UsageDimension = (typeof usageDimensions)[number]
export const usageSpans = [7, 30, 90, 365] as const
type SpanDays = (typeof usageSpans)[number]
const buckets = ['day', 'week', 'month'] as const
export type Bucket = (typeof buckets)[number]
export type Unit = 'usd' | 'tokens'

/** The usage that a page or a CSV shows. Days are days since the Unix epoch, in UTC. */
export interface UsageView {
  by: UsageDimension
  each: Bucket
  days: SpanDays
  /** Null: dollars, or tokens when no usage has a price. */
  unit: Unit | null
  fromDay: number
  /** Exclusive. */
  toDay: number
  today: number
}

/** Returns the bucket sizes that fit a span, so that each bar is wide enough to be visible. */
export const listBucketSizes = (days: SpanDays): readonly Bucket[] =>
  ({ 7: ['day'], 30: ['day', 'week'], 90: ['day', 'week', 'month'], 365: ['week', 'month'] })[
    days
  ] as Bucket[]

/** Returns the first day of the day, week (from Monday) or month that contains a day. */
export function startOfBucket(day: number, each: Bucket): number {
  if (each === 'day') return day
  if (each === 'week') return day - ((day + 3) % 7)
  const date = new Date(day * DAY_MS)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / DAY_MS
}

/** Lists the first day of each bucket of a view. */
export function listBuckets({ fromDay, toDay, each }: UsageView): number[] {
  const starts: number[] = []
  let day = fromDay
  while (day < toDay) {
    starts.push(day)
    day = endOfBucket(day, each)
  }
  return starts
}

/** Returns the first day after the bucket that starts on `day`. */
export function endOfBucket(day: number, each: Bucket): number {
  if (each === 'month') return startOfBucket(day + 31, 'month')
  return day + (each === 'week' ? 7 : 1)
}

/** Parses a query into a view; invalid values get defaults, so that old links keep working. */
export function parseUsageView(
  query: (name: string) => string | undefined,
  now: number,
): UsageView {
  const today = Math.floor(now / DAY_MS)
  const pick = <Value extends string>(from: readonly Value[], name: string): Value | undefined =>
    from.find((value) => value === query(name))
  const days = usageSpans.find((span) => String(span) === query('days')) ?? usageCharts.daysDefault
  const allowed = listBucketSizes(days)
  const each = pick(allowed, 'each') ?? allowed[0] ?? 'day'
  const last = Math.min(today, parseDay(query('to')) ?? today)
  return {
    by: pick(usageDimensions, 'by') ?? 'agent',
    each,
    days,
    unit: pick(['usd', 'tokens'] as const, 'in') ?? null,
    fromDay: startOfBucket(last - days + 1, each),
    toDay: last + 1,
    today,
  }
}

function parseDay(text: string | undefined): number | null {
  if (!text || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) || at < 0 ? null : at / DAY_MS
}

/** Formats a day as `2026-11-21`. */
export const formatIsoDay = (day: number): string =>
  new Date(day * DAY_MS).toISOString().slice(0, 10)

/** Returns the query string of a view with some values changed; defaults are omitted. */
export function formatUsageQuery(
  view: UsageView,
  change: Partial<Pick<UsageView, 'by' | 'each' | 'days' | 'unit' | 'toDay'>> = {},
): string {
  const next = { ...view, ...change }
  const params = new URLSearchParams()
  if (next.by !== 'agent') params.set('by', next.by)
  if (next.days !== usageCharts.daysDefault) params.set('days', String(next.days))
  if (next.each !== listBucketSizes(next.days)[0]) params.set('each', next.each)
  if (next.unit) params.set('in', next.unit)
  if (next.toDay <= next.today) params.set('to', formatIsoDay(next.toDay - 1))
  const text = params.toString()
  return text && `?${text}`
}
