import type { ZodError } from 'zod'

/** At most so many UTF-16 units, and no half of a character at the end. */
export const cut = (text: string, chars: number): string =>
  text.length <= chars ? text : text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '')

/** Milliseconds since the Unix epoch; null for what is no time. */
export function readTime(text: string | null | undefined): number | null {
  const at = text ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : at
}

/** What is wrong with a record, in one line: the first three fields. */
export const describe = (error: ZodError): string =>
  error.issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.map(String).join('.') || 'record'}: ${message}`)
    .join('; ')
