const DAY_MS = 86_400_000

/** Spans of time that a search can be limited to, in days. */
const spanDays = { day: 1, week: 7, month: 31, year: 366 } as const

export type SearchSpan = keyof typeof spanDays
export const searchSpans = Object.keys(spanDays) as SearchSpan[]

/** Returns when a span of time that ends now began; null for all time. */
export const toSince = (span: SearchSpan | null, now: number): number | null =>
  span === null ? null : now - spanDays[span] * DAY_MS
