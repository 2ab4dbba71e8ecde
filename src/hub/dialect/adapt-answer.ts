import type { DescribedRoute } from './described-route'
import { type Facts, isRecord, type Json } from './objects'
import { type Changes, toTheirPaths } from './operations'
import type { PageRequest } from './page-request'

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
