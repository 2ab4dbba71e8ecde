import * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { decodeCursor, encodeCursor } from '../cursor'
import type { PageRequest } from './read-queries'

/** Query parameters of every list of moderation. */
export const pageQuery = z.object({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(moderationLimits.pageMax)
    .default(moderationLimits.pageMax),
  cursor: z.string().max(500).optional(),
})

/** Returns a request for one row more than the page, which shows whether there is another page. */
export function toPageRequest({ limit, cursor }: z.output<typeof pageQuery>): PageRequest {
  const decoded = decodeCursor(cursor)
  return { before: Array.isArray(decoded) ? decoded : null, limit: limit + 1 }
}

/** Returns the rows of a page without the extra one, and the fields that lead to the next page. */
export const presentPage = <Row>(
  rows: Row[],
  limit: number,
  toKey: (row: Row) => [number, string],
) => {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const hasMore = rows.length > page.length
  return {
    page,
    fields: { has_more: hasMore, next_cursor: hasMore && last ? encodeCursor(toKey(last)) : null },
  }
}

export const keyOf = (row: { createdAt: number; id: string }): [number, string] => [
  row.createdAt,
  row.id,
]
