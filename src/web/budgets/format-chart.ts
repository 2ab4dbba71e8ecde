import type { Bucket, Unit } from '../../hub/budgets/usage-view'
import { formatCount, formatMoney } from '../../shared/format'
import type { ChartBucket } from './chart-data'

const DAY_MS = 86_400_000
const NBSP = '\u00a0'

const createDayFormat = (options: Intl.DateTimeFormatOptions) => {
  const dates = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
  return (day: number) => dates.format(day * DAY_MS).replaceAll(' ', NBSP)
}
const longDay = createDayFormat({ weekday: 'short', day: 'numeric', month: 'short' })
const longMonth = createDayFormat({ month: 'long', year: 'numeric' })
const shortMonth = createDayFormat({ month: 'short' })
const shortDay = createDayFormat({ day: 'numeric', month: 'short' })
/** Formats a day, as `21 Nov 2026`. */
export const formatFullDay = createDayFormat({ day: 'numeric', month: 'short', year: 'numeric' })

/** Formats a bucket, as `Sat 21 Nov`, `16 Nov to 22 Nov` or `November 2026`. */
export function formatBucket({ fromDay, toDay }: ChartBucket, each: Bucket): string {
  if (each === 'day') return longDay(fromDay)
  if (each === 'month') return longMonth(fromDay)
  return `${shortDay(fromDay)} to ${shortDay(toDay - 1)}`
}

/** Formats a day or month for an axis. */
export const formatTick = (day: number, each: Bucket): string =>
  each === 'month' ? shortMonth(day) : shortDay(day)

export const formatAmount = (value: number, unit: Unit): string =>
  unit === 'usd' ? formatMoney(value, 'budget') : `${formatCount(value)}${NBSP}tokens`

const compact = new Intl.NumberFormat('en-US', { notation: 'compact' })

/** Formats an axis value with the digits that its step needs, as `$50`, `$0.50`, `$0.005` or `1.2M`. */
export function formatAxisValue(value: number, step: number, unit: Unit): string {
  if (unit === 'tokens') return compact.format(value)
  const dollars = step / 1_000_000
  let digits = 0
  while (
    digits < 6 &&
    Math.abs(dollars * 10 ** digits - Math.round(dollars * 10 ** digits)) > 1e-9
  ) {
    digits += 1
  }
  const shown = value === 0 ? 0 : digits === 1 ? 2 : digits
  return `$${(value / 1_000_000).toLocaleString('en-US', { minimumFractionDigits: shown, maximumFractionDigits: shown })}`
}
