import type { ZodError } from 'zod'

/** Truncates a text to at most `chars` UTF-16 units, without splitting a surrogate pair. */
export const truncateText = (text: string, chars: number): string =>
  text.length <= chars ? text : text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '')

/** Parses a date as milliseconds since the Unix epoch; null when it is missing or invalid. */
export function readTime(text: string | null | undefined): number | null {
  const at = text ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : at
}

/** Formats the first three issues of an invalid record as one line. */
export const formatIssues = (error: ZodError): string =>
  error.issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.map(String).join('.') || 'record'}: ${message}`)
    .join('; ')
