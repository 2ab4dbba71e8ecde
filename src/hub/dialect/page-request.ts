import type { DescribedRoute } from './described-route'
import { dialectErrors } from './errors'

/** The page of a list that a request asks for. */
export interface PageRequest {
  limit: number
  offset: number
  /** Rows at the start of the answer that belong to earlier pages. */
  skip: number
}

/**
 * Reads `page`, `offset` and `cursor`, and sets the one that the route knows. A list that is read by
 * keyset is read from its start up to the page, as far as its longest page reaches.
 *
 * @throws VALIDATION
 */
export function takePage(route: DescribedRoute, query: URLSearchParams): PageRequest {
  const limit = readLimit(route, query)
  const offset = takeOffset(query, limit)
  const cursor = query.get('cursor')
  if (cursor !== null && offset > 0) throw dialectErrors.pageAndOffset()
  const page = { limit, offset, skip: 0 }
  if (route.parameters.has('offset')) {
    if (offset > 0) query.set('offset', String(offset))
    return page
  }
  if (offset === 0) return page
  if (offset + limit > route.limitMax) throw dialectErrors.tooFar(route.limitMax)
  query.set('limit', String(offset + limit))
  return { ...page, skip: offset }
}

/** An invalid limit is refused by the route itself. */
const readLimit = ({ limitDefault }: DescribedRoute, query: URLSearchParams): number => {
  const limit = Number(query.get('limit') || limitDefault)
  return Number.isInteger(limit) && limit > 0 ? limit : limitDefault
}

function takeOffset(query: URLSearchParams, limit: number): number {
  const [page, offset] = [query.get('page'), query.get('offset')]
  query.delete('page')
  query.delete('offset')
  if (page && offset) throw dialectErrors.pageAndOffset()
  if (page) {
    if (!/^[1-9]\d{0,5}$/.test(page)) throw dialectErrors.notPositive('page')
    return (Number(page) - 1) * limit
  }
  if (offset && !/^\d{1,7}$/.test(offset)) throw dialectErrors.notCount('offset')
  return Number(offset ?? 0)
}
