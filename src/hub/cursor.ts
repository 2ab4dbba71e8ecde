import * as z from 'zod'
import { AppError } from '../shared/errors'

/**
 * A position in a list: the sort key and the id of the last row returned (keyset), or a number of rows
 * to skip. Clients see an opaque base64url string.
 */
export const cursorSchema = z.union([
  z.tuple([z.number(), z.string().max(100)]),
  z.number().int().min(0).max(1_000_000),
])
export type Cursor = z.infer<typeof cursorSchema>

export const encodeCursor = (cursor: Cursor): string =>
  btoa(JSON.stringify(cursor))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/={1,2}$/, '')

/** Parses a cursor; null when there is none. Throws VALIDATION for any other text. */
export function decodeCursor(text: string | undefined): Cursor | null {
  if (!text) return null
  try {
    return cursorSchema.parse(JSON.parse(atob(text.replace(/-/g, '+').replace(/_/g, '/'))))
  } catch (cause) {
    throw notCursor(cause)
  }
}

const notCursor = (cause?: unknown) =>
  new AppError('VALIDATION', 'The cursor is not valid.', {
    hint: 'Pass next_cursor of the previous page unchanged, or omit the cursor.',
    details: [{ path: 'query.cursor', message: 'Must be the next_cursor of a previous page' }],
    cause,
  })

/**
 * Parses the cursor of a list that is ordered by time and id; null on the first page. Throws VALIDATION for any other
 * text, also for the cursor of a list with another order: whoever followed it would read the first page again and again.
 */
export function decodeKeyset(text: string | undefined): [number, string] | null {
  const cursor = decodeCursor(text)
  if (typeof cursor === 'number') throw notCursor()
  return cursor
}

/**
 * Returns one page of rows that were read with one more than `limit`, and the cursor of the next page,
 * null on the last one.
 */
export function splitPage<Row extends { at: number; id: string }>(
  rows: Row[],
  limit: number,
): { page: Row[]; next: string | null } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { page, next: rows.length > page.length && last ? encodeCursor([last.at, last.id]) : null }
}
