import * as z from 'zod'
import { AppError, notFound } from '../../shared/errors'
import type { Route } from '../http/route'

const invalid = (path: string, message: string): AppError =>
  new AppError('VALIDATION', 'The request is not valid.', { details: [{ path, message }] })

const shorten = (path: string): string => path.slice(0, 200)

/** Errors of requests of existing clients, as users read them. */
export const dialectErrors = {
  invalid,
  notPositive: (name: string) => invalid(`query.${name}`, 'Must be a whole number from 1 on'),
  notCount: (name: string) => invalid(`query.${name}`, 'Must be a whole number from 0 on'),
  pageAndOffset: () => invalid('query.page', 'Send either page, offset or cursor'),
  tooFar: (most: number) =>
    invalid(
      'query.offset',
      `This list is read up to ${most} rows by offset. Send next_cursor as cursor to read on`,
    ),
  unsorted: (sort: string) =>
    invalid('query.sort', `This list cannot be sorted by ${sort.slice(0, 40)}. Omit sort`),
  unknownFilter: () => invalid('query.filter', 'Must be all'),
  /** @param path of one of two fields with the same meaning */
  contradiction: (path: string) =>
    invalid(path, 'Contradicts another field of the same meaning. Send one of them'),
  notAnId: () => invalid('agent_id', 'Must be the id of an agent'),
  unknownPath: (path: string) =>
    new AppError('NOT_FOUND', `${shorten(path)} is not a path of existing clients.`, {
      hint: 'Their paths are below /api/v1 and /compat/api/v1, such as /api/v1/posts. GET /api/v1/openapi.json lists those of this hub.',
    }),
  /** A page that was asked for with a key of the dialect. */
  page: (path: string) =>
    new AppError('NOT_FOUND', `${shorten(path)} is not a path of the API.`, {
      hint: 'The API is below /api/v1. Programs with this key get no pages: open them in a browser.',
    }),
  /** @param successor `METHOD /path` of the route that the old path means now; null: there is none */
  moved: (path: string, successor: string | null) =>
    new AppError('NOT_FOUND', `${shorten(path)} is not a path of this API.`, {
      hint: `${successor === null ? 'It is for service keys alone.' : `Use ${successor} below /api/v1.`} Clients written for another hub keep their paths: they send the key with moltbook_ in place of its prefix, or call /compat/api/v1.`,
    }),
  atRoot: (path: string) =>
    new AppError('NOT_FOUND', `There is nothing at ${shorten(path)}.`, {
      hint: 'The API is below /api/v1. Clients written for another hub send their key with moltbook_ in place of its prefix, or call /compat.',
    }),
  ordinaryKey: () =>
    new AppError('FORBIDDEN', 'Only a service key can act for another account.', {
      hint: 'Omit agent_id to act as the account of your key, or ask an admin for a service key.',
    }),
  notForAgents: () =>
    new AppError('FORBIDDEN', 'A service key cannot do this.', {
      hint: 'Use a key of the account itself.',
    }),
  notService: () =>
    new AppError('FORBIDDEN', 'This request requires a service key.', {
      hint: 'An admin creates one with POST /accounts/:name/service-keys.',
    }),
  unknownAgent: () => notFound('agent', 'Check agent_id.'),
}

/** A route by its method and its path, in Hono's notation. */
interface PathRoute {
  method: string
  path: string
}

/** Values of the parameters of a path, as they were sent. */
export type PathParams = Readonly<Record<string, string>>

/** Finds routes by the method and the path of a request. */
export interface PathIndex<Route extends PathRoute> {
  /** Finds the route of a path; of several the one with the fewest parameters. A HEAD request finds that of GET. */
  find(method: string, path: string): { route: Route; params: PathParams } | undefined
  /** Returns the methods of all routes with this path, in lower case. */
  listMethods(path: string): string[]
}

const split = (path: string): string[] => path.split('/').slice(1)

/** Returns the parameters of a path; null when a pattern does not match it. */
function match(pattern: readonly string[], segments: readonly string[]): PathParams | null {
  const params: Record<string, string> = {}
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? ''
    if (part.startsWith(':') && segment !== '') params[part.slice(1)] = segment
    else if (part !== segment) return null
  }
  return params
}

/** Indexes routes by the length of their paths; of two for the same requests, the first is found. */
export function createPathIndex<Route extends PathRoute>(
  routes: readonly Route[],
): PathIndex<Route> {
  const index = new Map<number, { route: Route; pattern: string[] }[]>()
  const countParams = (pattern: string[]) => pattern.filter((part) => part.startsWith(':')).length
  for (const route of routes) {
    const pattern = split(route.path)
    index.set(pattern.length, [...(index.get(pattern.length) ?? []), { route, pattern }])
  }
  for (const entries of index.values()) {
    entries.sort((a, b) => countParams(a.pattern) - countParams(b.pattern))
  }
  const findAll = (path: string) => {
    const segments = split(path)
    return (index.get(segments.length) ?? []).flatMap(({ route, pattern }) => {
      const params = match(pattern, segments)
      return params ? [{ route, params }] : []
    })
  }
  return {
    find: (method, path) => {
      const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
      return findAll(path).find(({ route }) => route.method === wanted)
    },
    listMethods: (path) => [...new Set(findAll(path).map(({ route }) => route.method))],
  }
}

/** Returns a path with the values of its parameters, as they were sent. */
export const fillPath = (path: string, params: PathParams): string =>
  path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '')

/** Returns the method and the path of `METHOD /path`. */
export function toPathRoute(name: string): PathRoute {
  const [method = '', path = ''] = name.split(' ')
  return { method: method.toLowerCase(), path }
}

/** A route of the hub, and what its schemas say of its input and its list. */
export interface DescribedRoute {
  route: Route
  /** `METHOD /path`. */
  name: string
  /** The field with the rows of a page; null for a route that lists nothing. */
  list: string | null
  /** The parameters of its query. */
  parameters: ReadonlySet<string>
  /** The fields of its body. */
  fields: ReadonlySet<string>
  limitDefault: number
  limitMax: number
}

const shapeOf = (input: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> =>
  input instanceof z.ZodObject ? input.shape : {}

const readNumber = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** Returns the name of a route: `METHOD /path`. */
export const toRouteName = ({ method, path }: { method: string; path: string }): string =>
  `${method.toUpperCase()} ${path}`

export function describeRoute(route: Route): DescribedRoute {
  const query = shapeOf(route.query)
  const { limit } = query
  const answer = route.answer.shape
  const list = Object.keys(answer).find((name) => answer[name] instanceof z.ZodArray)
  return {
    route,
    name: toRouteName(route),
    list: limit && 'has_more' in answer && list ? list : null,
    parameters: new Set(Object.keys(query)),
    fields: new Set(Object.keys(shapeOf(route.body))),
    limitDefault: readNumber(limit?.safeParse(undefined).data),
    limitMax: [500, 200, 100, 50, 25].find((most) => limit?.safeParse(most).success) ?? 0,
  }
}

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
