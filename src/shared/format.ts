/**
 * Formatting of numbers for pages. Units follow a no-break space. Money has one precision per kind of
 * page, so that an amount looks the same everywhere.
 */
import { keep } from './keep.ts'

const NBSP = '\u00a0'

type MoneyPlace = 'thread' | 'trace' | 'budget'

const digits = { thread: 3, trace: 4, budget: 2 } as const satisfies Record<MoneyPlace, number>

const formatDigits = (least: number, most = least): (() => Intl.NumberFormat) =>
  keep(
    () =>
      new Intl.NumberFormat('en-US', { minimumFractionDigits: least, maximumFractionDigits: most }),
  )

const moneyFormats: Record<MoneyPlace, () => Intl.NumberFormat> = {
  thread: formatDigits(digits.thread),
  trace: formatDigits(digits.trace),
  budget: formatDigits(digits.budget),
}

/**
 * Formats money: `$0.062` in threads, `$0.0618` in traces, `$48.62` in budgets and wherever it is a dollar
 * or more. An amount below the precision is "under $0.001", never $0.000; zero is "no cost", except in
 * budgets.
 *
 * @param microusd whole micro-dollars
 */
export function formatMoney(microusd: number, place: MoneyPlace): string {
  const precision = digits[place]
  if (microusd === 0) return place === 'budget' ? '$0.00' : 'no cost'
  const smallest = 10 ** -precision
  const dollars = Math.abs(microusd) / 1_000_000
  const sign = microusd < 0 ? '−' : ''
  if (dollars < smallest / 2) return `${sign}under${NBSP}$${smallest.toFixed(precision)}`
  return `${sign}$${moneyFormats[dollars < 1 - smallest / 2 ? place : 'budget']().format(dollars)}`
}

/** Micro-dollars below which the two digits of a budget say nothing. */
const cent = 10_000

const exactFormat = formatDigits(digits.budget, 6)

/** Formats an amount of a budget: exactly when its limit is below a cent, as `$0.004`. */
export const formatBudgetMoney = (microusd: number, limitMicrousd: number | null): string =>
  limitMicrousd !== null && limitMicrousd < cent && microusd >= 0
    ? `$${exactFormat().format(microusd / 1_000_000)}`
    : formatMoney(microusd, 'budget')

/** Formats a cost; "unpriced" for a model without a known price, which is not free. */
export const formatCost = (microusd: number, isPriced: boolean, place: MoneyPlace): string =>
  isPriced ? formatMoney(microusd, place) : 'unpriced'

/** Starts a text with a capital letter. */
export const capitalize = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}`

const countFormat = keep(() => new Intl.NumberFormat('en-US'))

export const formatCount = (count: number): string => countFormat().format(count)

const periodLabels = { day: 'today', week: 'this week', month: 'this month' } as const

/** Formats the current window of a budget. */
export const formatPeriod = (period: keyof typeof periodLabels): string => periodLabels[period]

/** Formats a count with its noun: `1 reply`, `12 replies`. */
export const formatPlural = (count: number, one: string, many: string): string =>
  `${formatCount(count)}${NBSP}${count === 1 ? one : many}`

/** Formats a duration: `42 s`, `1 min 08 s`, `15 min`, `2 h 05 min`, `2 h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (ms < 1_000) return ms < 50 ? `under${NBSP}0.1${NBSP}s` : `${(ms / 1_000).toFixed(1)}${NBSP}s`
  if (seconds < 60) return `${seconds}${NBSP}s`
  const join = (whole: string, part: number, unit: string) =>
    part === 0 ? whole : `${whole}${NBSP}${String(part).padStart(2, '0')}${NBSP}${unit}`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return join(`${minutes}${NBSP}min`, seconds % 60, 's')
  return join(`${Math.floor(minutes / 60)}${NBSP}h`, minutes % 60, 'min')
}

/** Formats a duration in a trace with at most three digits: `4 ms`, `0.38 s`, `10.8 s`. */
export function formatSpan(ms: number): string {
  if (ms < 100) return `${Math.round(ms)}${NBSP}ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(2)}${NBSP}s`
  if (ms < 100_000) return `${(ms / 1_000).toFixed(1)}${NBSP}s`
  return `${Math.round(ms / 1_000)}${NBSP}s`
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes}${NBSP}B`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)}${NBSP}KB`
  return `${(bytes / 1_000_000).toFixed(1)}${NBSP}MB`
}

/** Formats a share as whole percent; a share below 1 is never shown as 100 %. */
export function formatShare(share: number): string {
  const percent = share < 1 ? Math.min(99, Math.round(share * 100)) : Math.floor(share * 100)
  return `${percent}${NBSP}%`
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Formats a time relative to `now`: `just now`, `42 min ago`, `3 h ago`, `yesterday`, `6 days ago`, `12 Mar 2026`. */
export function formatAgo(at: number, now: number): string {
  const age = now - at
  if (age < minute) return 'just now'
  if (age < hour) return `${Math.floor(age / minute)}${NBSP}min ago`
  if (age < day) return `${Math.floor(age / hour)}${NBSP}h ago`
  if (age < 2 * day) return 'yesterday'
  if (age < 14 * day) return `${Math.floor(age / day)}${NBSP}days ago`
  return formatDay(at)
}

const dayFormat = keep(
  () =>
    new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      timeZone: 'UTC',
    }),
)

/** Formats a day in UTC: `12 Mar 2026`. */
export const formatDay = (at: number): string => dayFormat().format(at).replaceAll(' ', NBSP)

/** Formats an exact time: `2026-11-21 10:08:51 UTC`. */
export const formatExact = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** Formats a time as ISO 8601; the epoch for a time beyond the range of Date, as imports may have. */
export const toIso = (at: number): string =>
  new Date(Math.abs(at) <= 8.64e15 ? at : 0).toISOString()
