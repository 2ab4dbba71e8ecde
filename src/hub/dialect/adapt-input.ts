import { findNearest } from '../../shared/find-nearest'
import { withoutMark } from '../communities/community-name'
import type { DescribedRoute } from './described-route'
import { dialectErrors } from './errors'
import type { Json } from './objects'
import type { Changes } from './operations'
import type { PathParams } from './path-index'

/** Fields that clients send as null when they have none. */
const optional = ['title', 'content', 'url', 'description', 'display_name', 'community']

/**
 * Returns the body of a route; the input is not changed.
 *
 * @param given undefined when the request has none
 * @throws VALIDATION for two names of one field with different values
 */
export function adaptBody(
  changes: Changes,
  { fields }: DescribedRoute,
  given: Json | undefined,
  params: PathParams,
): Json | undefined {
  if (given === undefined) return changes.toBody?.({}, params)
  const body = rename({ ...given }, changes.body ?? {})
  if (changes.drops) {
    dropNulls(body)
    dropUnknown(body, fields, changes.drops)
  }
  return changes.toBody?.(body, params) ?? body
}

function rename(body: Json, names: Readonly<Record<string, string>>): Json {
  for (const [from, to] of Object.entries(names)) {
    if (!(from in body)) continue
    if (to in body && !isSame(body[to], body[from])) {
      throw dialectErrors.contradiction(`body.${from}`)
    }
    body[to] = body[from]
    delete body[from]
  }
  return body
}

/** Whether two values mean the same: `m/name` is the community `name`. */
const isSame = (one: unknown, other: unknown): boolean =>
  typeof one === 'string' && typeof other === 'string'
    ? withoutMark(one) === withoutMark(other)
    : JSON.stringify(one) === JSON.stringify(other)

function dropNulls(body: Json): void {
  for (const name of optional) if (body[name] === null) delete body[name]
}

/** Fields of other hubs that a body can have. */
const foreignMax = 50

/**
 * Drops what the route does not have. With `distant` what may be a misspelt field stays, so that the route refuses it,
 * and so does a body with very many of them.
 */
function dropUnknown(
  body: Json,
  known: ReadonlySet<string>,
  drops: NonNullable<Changes['drops']>,
): void {
  const unknown = Object.keys(body).filter((name) => !known.has(name))
  if (drops === 'distant' && unknown.length > foreignMax) return
  for (const name of unknown) {
    if (drops === 'all' || findNearest(name, known) === null) delete body[name]
  }
}

const communityNames = { submolt: 'community', submolt_name: 'community', submoltName: 'community' }

/**
 * Sets the parameters of a route in a query.
 *
 * @throws VALIDATION for a parameter that would have no effect and matters, and for two names of one parameter with
 * different values
 */
export function adaptQuery(
  changes: Changes,
  { list, parameters }: DescribedRoute,
  query: URLSearchParams,
  isService: boolean,
): void {
  renameParameters(query, parameters.has('community') ? communityNames : {})
  renameParameters(query, changes.query ?? {})
  changes.toQuery?.(query, isService)
  if (list === null) return
  const sort = query.get('sort')
  if (sort && !parameters.has('sort')) {
    if (!changes.sorts?.includes(sort)) throw dialectErrors.unsorted(sort)
    query.delete('sort')
  }
  const filter = query.get('filter')
  if (filter && !parameters.has('filter') && filter !== 'all') throw dialectErrors.unknownFilter()
}

function renameParameters(query: URLSearchParams, names: Readonly<Record<string, string>>): void {
  for (const [from, to] of Object.entries(names)) {
    const value = query.get(from)
    if (value === null) continue
    if (!isSame(query.get(to) ?? value, value)) throw dialectErrors.contradiction(`query.${from}`)
    query.set(to, value)
    query.delete(from)
  }
}
