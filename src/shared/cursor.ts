import * as z from 'zod'
import { AppError } from './errors'

/**
 * A position in a list: the sort key and the id of the last row returned (keyset), a number of rows to skip, or
 * digits that say which rows were returned. Clients see an opaque base64url string, which only the list takes that it is of.
 */
const keysetSchema = z.tuple([z.number(), z.string().max(100)])
const countSchema = z.number().int().min(0).max(1_000_000)
export type Keyset = z.infer<typeof keysetSchema>
export type Cursor = Keyset | number
/** Where each of two lists stands: a number and a text; null: at its start. */
const positionsSchema = z.tuple([z.number().nullable(), z.string().max(2_000).nullable()])
type Positions = z.infer<typeof positionsSchema>

/** Returns a short mark of a list (FNV-1a): a cursor of another one has another mark. */
function toMark(list: string): string {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(list)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(36)
}

/**
 * Returns the cursor of a list.
 *
 * @param list what is listed, with its filter and order: in a route of the API `call.list`
 */
export const encodeCursor = (list: string, position: Cursor | Positions | string): string =>
  btoa(toAscii(JSON.stringify([toMark(list), position])))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/={1,2}$/, '')

/** Escapes in JSON what base64 does not take. */
const toAscii = (json: string): string =>
  json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Parses a cursor; null when there is none. Throws VALIDATION for any other text, also for another list's cursor. */
function decode<Position>(
  list: string,
  text: string | undefined,
  schema: z.ZodType<Position>,
): Position | null {
  if (!text) return null
  try {
    const decoded = JSON.parse(atob(text.replace(/-/g, '+').replace(/_/g, '/')))
    return z.tuple([z.literal(toMark(list)), schema]).parse(decoded)[1]
  } catch (cause) {
    throw notCursor(cause)
  }
}

const notCursor = (cause: unknown) =>
  new AppError('VALIDATION', 'The cursor is not valid.', {
    hint: 'Pass next_cursor of the previous page unchanged, with the same parameters, or omit the cursor.',
    details: [
      { path: 'query.cursor', message: 'Must be the next_cursor of a previous page of this list' },
    ],
    cause,
  })

/** Parses the cursor of a list that is ordered by a key and an id; null on the first page. @throws VALIDATION */
export const decodeKeyset = (list: string, text: string | undefined): Keyset | null =>
  decode(list, text, keysetSchema)

/** Parses the cursor of a list that skips rows; 0 on the first page. @throws VALIDATION */
export const decodeCount = (list: string, text: string | undefined): number =>
  decode(list, text, countSchema) ?? 0

/** Parses the cursor of two lists that are read side by side; null on the first page. @throws VALIDATION */
export const decodePositions = (list: string, text: string | undefined): Positions | null =>
  decode(list, text, positionsSchema)

/**
 * Parses the cursor of a list whose order changes while it is read, as the digits to base 32 that say what earlier
 * pages had; '' on the first page.
 *
 * @throws VALIDATION
 */
export const decodeSeen = (list: string, text: string | undefined): string =>
  decode(list, text, z.string().regex(/^[0-9a-v]*$/)) ?? ''

/**
 * Returns one page of rows that were read with one more than `limit`, and the cursor of the next page,
 * null on the last one.
 */
export function splitPage<Row>(
  rows: Row[],
  limit: number,
  list: string,
  toPosition: (row: Row) => Cursor,
): { page: Row[]; next: string | null } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const hasMore = rows.length > page.length && last !== undefined
  return { page, next: hasMore ? encodeCursor(list, toPosition(last)) : null }
}

/** Returns the fields of an answer that lead to its next page. */
export const toPageFields = (next: string | null) => ({
  has_more: next !== null,
  next_cursor: next,
})

/** Returns the keyset of a row of a list in the order of time. */
export const toTimeKey = ({ at, id }: { at: number; id: string }): Keyset => [at, id]
