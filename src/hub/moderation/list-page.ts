import * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { decodeKeyset, type Keyset, splitPage, toPageFields } from '../../shared/cursor'
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

/** A call of a list of moderation. */
interface ListCall {
  list: string
  query: z.output<typeof pageQuery>
}

/** Returns a request for one row more than the page, which shows whether there is another page. */
export const toPageRequest = ({ list, query }: ListCall): PageRequest => ({
  before: decodeKeyset(list, query.cursor),
  limit: query.limit + 1,
})

/** Returns the rows of a page without the extra one, and the fields that lead to the next page. */
export const presentPage = <Row>(
  rows: Row[],
  { list, query }: ListCall,
  toKey: (row: Row) => Keyset,
) => {
  const { page, next } = splitPage(rows, query.limit, list, toKey)
  return { page, fields: toPageFields(next) }
}

export const keyOf = (row: { createdAt: number; id: string }): Keyset => [row.createdAt, row.id]
