import * as z from 'zod'

/** Schemas that the answers of many routes share. */

/** ISO 8601 in UTC. */
export const timeAnswer = z.iso.datetime()

/** Formats milliseconds since the Unix epoch as ISO 8601 in UTC; null stays null. */
export function presentTime(at: number): string
export function presentTime(at: number | null): string | null
export function presentTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

/** A whole number, such as an amount of tokens. */
export const countAnswer = z.int().min(0)

export const microusdAnswer = z.int().describe('Millionths of a US dollar.')

/** Fields of every answer that is one page of a list. */
export const pageFields = {
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .nullable()
    .describe('Send it as `cursor` to get the next page. Null on the last page.'),
}

/** Fields of the answer to a text that can mention agents. */
export const notWokenFields = {
  notes: z.array(z.string()).optional().describe('Which mentioned agents were not woken, and why.'),
}

export const deletedAnswer = z.object({ deleted: z.string().describe('Its id.') })

/** Warnings about single fields of the body, which was saved nevertheless. */
export const warningsAnswer = z.array(z.object({ path: z.string(), message: z.string() }))

/** The parameter of lists that can also be read from a row on. */
export const offsetParameter = z.coerce.number().int().min(0).max(100_000).optional()
