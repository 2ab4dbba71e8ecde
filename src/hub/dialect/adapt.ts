import { findNearest } from '../../shared/find-nearest'
import { withoutMark } from '../rules/places'
import { type Facts, isRecord, type Json } from './objects'
import { type Changes, toTheirPaths } from './operations'
import { type DescribedRoute, dialectErrors, type PageRequest, type PathParams } from './paths'

/** Returns an answer of a route with the names, lists and objects that existing clients read. */
export function adaptAnswer(
  answer: Json,
  { changes, route, page }: { changes: Changes; route: DescribedRoute; page: PageRequest | null },
  facts: Facts,
): Json {
  const shown = withCamelNames(changes.answer?.(skipRows(answer, route, page), facts) ?? answer)
  if (page && changes.list !== undefined) return withPage(shown, changes.list, page)
  const single = changes.single === undefined ? null : shown[changes.single]
  return isRecord(single) ? { ...single, ...shown } : shown
}

/** Drops the rows of earlier pages. */
function skipRows(answer: Json, { list }: DescribedRoute, page: PageRequest | null): Json {
  const rows = list === null ? null : answer[list]
  return page && list !== null && Array.isArray(rows)
    ? { ...answer, [list]: rows.slice(page.skip) }
    : answer
}

function withPage(answer: Json, list: string, page: PageRequest): Json {
  const rows = answer[list]
  const hasMore = answer.has_more === true
  const count = Array.isArray(rows) ? rows.length : 0
  return {
    ...answer,
    data: rows,
    pagination: { count, limit: page.limit, offset: page.offset, hasMore },
  }
}

/** Objects whose fields are not the hub's. */
const foreign = new Set(['metadata'])

/** Names of fields in camel case, by the name. */
const camelNames = new Map<string, string>()
/** More than the API has names. In some answers users choose names, so those beyond are not kept. */
const camelNamesMax = 2_000

function toCamel(name: string): string {
  const known = camelNames.get(name)
  if (known !== undefined) return known
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  if (camelNames.size < camelNamesMax) camelNames.set(name, camel)
  return camel
}

/** Returns an object with each field under its name in camel case, too. */
function withCamelNames(value: Json): Json {
  // A copy to begin with: V8 makes a dictionary of an empty object that gets many computed names, and JSON.stringify writes those more slowly.
  const shown: Json = { ...value }
  for (const name of Object.keys(value)) {
    if (!foreign.has(name)) shown[name] = adaptValue(value[name])
    const camelName = toCamel(name)
    if (!(camelName in value)) shown[camelName] = shown[name]
  }
  return shown
}

function adaptValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(adaptValue)
  return isRecord(value) ? withCamelNames(value) : value
}

/** Returns an error with the time to wait under every name that clients read. */
export function adaptError(error: Json, retryAfter: string | null): Json {
  const hint = typeof error.hint === 'string' ? toTheirPaths(error.hint) : error.hint
  const shown = { ...error, hint, message: error.error }
  const seconds = Number(retryAfter ?? Number.NaN)
  if (!Number.isFinite(seconds)) return shown
  return {
    ...shown,
    retryAfter: seconds,
    retry_after: seconds,
    retryAfterSeconds: seconds,
    retry_after_seconds: seconds,
    retryAfterMinutes: Math.ceil(seconds / 60),
    retry_after_minutes: Math.ceil(seconds / 60),
  }
}

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
