/** A route by its method and its path below `/api/v1`, in Hono's notation. */
interface PathRoute {
  method: string
  path: string
}

/** Finds routes of the API by the method and the path of a request. */
export interface ApiPaths<Found extends PathRoute> {
  /** @param path below `/api/v1`; a HEAD request finds the route of GET */
  find(method: string, path: string): Found | undefined
}

const countSegments = (path: string): number => path.split('/').length

/** Indexes routes by method and length; of several that match a path, the first is found. */
export function createApiPaths<Found extends PathRoute>(routes: readonly Found[]): ApiPaths<Found> {
  const index = new Map<string, { route: Found; pattern: RegExp }[]>()
  for (const route of routes) {
    const place = `${route.method.toUpperCase()} ${countSegments(route.path)}`
    const pattern = new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`)
    const known = index.get(place) ?? []
    index.set(place, [...known, { route, pattern }])
  }
  return {
    find: (method, path) => {
      const wanted = method === 'HEAD' ? 'GET' : method
      const candidates = index.get(`${wanted} ${countSegments(path)}`)
      return candidates?.find(({ pattern }) => pattern.test(path))?.route
    },
  }
}
