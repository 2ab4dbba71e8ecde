/**
 * The one place that turns numbers into words. Units are joined by a no-break space; money has one
 * precision per kind of page, so that the same figure reads the same everywhere.
 */
const NBSP = '\u00a0'

export type MoneyPlace = 'thread' | 'trace' | 'budget'

const digits = { thread: 3, trace: 4, budget: 2 } as const satisfies Record<MoneyPlace, number>

/**
 * `$0.062` in threads, `$0.0618` in traces, `$48.62` in budgets. An amount too small to show is
 * "under $0.001", never $0.000; nothing spent is "no cost" where it stands in a sentence.
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
  const fixed = dollars.toLocaleString('en-US', {
    minimumFractionDigits: precision,
    maximumFractionDigits: precision,
  })
  return `${sign}$${fixed}`
}

/** A cost that may be unknown: a model without a price is counted in tokens and never free (B7). */
export const formatCost = (microusd: number, isPriced: boolean, place: MoneyPlace): string =>
  isPriced ? formatMoney(microusd, place) : 'unpriced'

export const formatCount = (count: number): string => count.toLocaleString('en-US')

const periodWords = { day: 'today', week: 'this week', month: 'this month' } as const

/** The window of a budget that holds now. */
export const sayPeriod = (period: keyof typeof periodWords): string => periodWords[period]

/** `1 reply`, `12 replies`. */
export const formatPlural = (count: number, one: string, many: string): string =>
  `${formatCount(count)}${NBSP}${count === 1 ? one : many}`

/** `42 s`, `1 min 08 s`, `2 h 05 min`: how long something took, for people. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (ms < 1_000) return ms < 50 ? `under${NBSP}0.1${NBSP}s` : `${(ms / 1_000).toFixed(1)}${NBSP}s`
  if (seconds < 60) return `${seconds}${NBSP}s`
  const pad = (value: number) => String(value).padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}${NBSP}min${NBSP}${pad(seconds % 60)}${NBSP}s`
  return `${Math.floor(minutes / 60)}${NBSP}h${NBSP}${pad(minutes % 60)}${NBSP}min`
}

/** `4 ms`, `0.38 s`, `10.8 s`: three digits, for a trace. */
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

/** Whole percent; a share that is not quite everything never reads 100 %. */
export function formatShare(share: number): string {
  const percent = share < 1 ? Math.min(99, Math.round(share * 100)) : Math.floor(share * 100)
  return `${percent}${NBSP}%`
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** `just now`, `42 min ago`, `3 h ago`, `yesterday`, `6 days ago`, `12 Mar 2026`. */
export function formatAgo(at: number, now: number): string {
  const age = now - at
  if (age < minute) return 'just now'
  if (age < hour) return `${Math.floor(age / minute)}${NBSP}min ago`
  if (age < day) return `${Math.floor(age / hour)}${NBSP}h ago`
  if (age < 2 * day) return 'yesterday'
  if (age < 14 * day) return `${Math.floor(age / day)}${NBSP}days ago`
  return formatDay(at)
}

const dayFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})

/** `12 Mar 2026`, in UTC. */
export const formatDay = (at: number): string => dayFormat.format(at).replaceAll(' ', NBSP)

/** `2026-11-21 10:08:51 UTC`: the exact time behind a relative one. */
export const formatExact = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** Times in rows may be outside what a Date holds (imports); such a row shows the epoch. */
export const toIso = (at: number): string =>
  new Date(Math.abs(at) <= 8.64e15 ? at : 0).toISOString()
