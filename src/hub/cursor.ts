import * as z from 'zod'
import { AppError } from '../errors'

/**
 * A place in a list: the sort key and the id of the last row seen (keyset), or a number of rows to
 * skip. Clients see an opaque base64url text.
 */
export const cursorSchema = z.union([
  z.tuple([z.number(), z.string().max(100)]),
  z.number().int().min(0).max(1_000_000),
])
export type Cursor = z.infer<typeof cursorSchema>

export const writeCursor = (cursor: Cursor): string =>
  btoa(JSON.stringify(cursor)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')

/** Throws VALIDATION for a text that `writeCursor` did not make. */
export function readCursor(text: string | undefined): Cursor | null {
  if (!text) return null
  try {
    return cursorSchema.parse(JSON.parse(atob(text.replace(/-/g, '+').replace(/_/g, '/'))))
  } catch (cause) {
    throw new AppError('VALIDATION', 'The cursor is not one of ours.', {
      hint: 'Pass next_cursor of the page before, unchanged, or leave it out.',
      details: [{ path: 'query.cursor', message: 'unreadable' }],
      cause,
    })
  }
}
