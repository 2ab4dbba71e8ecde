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
