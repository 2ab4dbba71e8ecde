import type { ZodError } from 'zod'
import { quote } from './import-report'
import type { TimeField } from './record-schema'

/** Notes that an import changes a field. */
export type Note = (reason: string) => void

/** Returns a text as it can be stored: Unicode without NUL characters, and not too long. */
export function readText(text: string, what: string, charsMax: number, note: Note): string {
  const clean = text.toWellFormed().replaceAll('\0', '\uFFFD')
  if (clean !== text) note(`The ${what} has characters that are not text. They were replaced.`)
  if (clean.length > charsMax) note(`The ${what} was shortened to ${charsMax} characters.`)
  return truncateText(clean, charsMax)
}

/** Truncates a text to at most `chars` UTF-16 units, without splitting a surrogate pair. */
const truncateText = (text: string, chars: number): string =>
  text.length <= chars ? text : text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '')

/** Below this a number is a date in seconds: in milliseconds it would be before March 1973. */
const secondsMax = 100_000_000_000

/** Parses a date as milliseconds since the Unix epoch; null when it is missing, not a date, or before 1970. */
export function parseTime(value: TimeField): number | null {
  const at = typeof value === 'number' || /^\d{9,}$/.test(value ?? '') ? toMs(value) : parse(value)
  return Number.isFinite(at) && at >= 0 && at <= 8.64e15 ? at : null
}

const toMs = (value: TimeField): number =>
  Math.round(Number(value) < secondsMax ? Number(value) * 1000 : Number(value))

/** Without a year in four digits, engines read dates into any text that ends with a number. */
const parse = (text: string | null | undefined): number =>
  text && /\b\d{4}\b|^\d{4}/.test(text) ? Date.parse(text) : Number.NaN

/** Parses a date; null when there is none that can be used. A date in the future becomes `now`. */
export function readTime(value: TimeField, now: number, note: Note): number | null {
  if (value == null || value === '') return null
  const at = parseTime(value)
  if (at === null) note(`The date ${quote(value)} cannot be read. Another one was used.`)
  if (at === null || at <= now) return at
  note(`The date ${quote(value)} is in the future. The time of the import was used.`)
  return now
}

/** Far more than any post gets; sums of such counts stay exact. */
const countMax = 1_000_000_000

/** Returns a count from 0, or from `-countMax` for a balance. */
export function readCount(
  value: number | null | undefined,
  what: string,
  note: Note,
  min: 0 | -1 = 0,
): number {
  const count = Math.round(value ?? 0)
  const limited = Math.min(Math.max(count, min * countMax), countMax)
  if (limited !== count) note(`The number of ${what} ${quote(value)} was set to ${limited}.`)
  return limited
}

/** Formats the first three issues of an invalid record as one line. */
export const formatIssues = (error: ZodError): string =>
  error.issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.map(String).join('.') || 'record'}: ${message}`)
    .join('; ')
