import type { ModuleRoute } from '../contract/hub'
import { apiBase } from '../http/mount-routes'
import type { Route } from '../http/route'
import { type DescribedRoute, describeRoute, toRouteName } from './described-route'
import { dialectBase, type Operation, operations } from './operations'
import { dialectRoutes } from './own-routes'
import { createPathIndex, type PathIndex, toPathRoute } from './path-index'

/** What answers a request of an existing client, by the method and the path that it sends. */
export interface Target {
  method: string
  /** Below the base of existing clients. */
  path: string
  /** Null for a route that the dialect does not change. */
  operation: Operation | null
  /** Null for a route of another module, whose input nothing is known of. */
  route: DescribedRoute | null
  /** The route: below `base`, with the parameters of `path`. */
  base: string
  routeMethod: string
  routePath: string
}

const toTarget = (route: { method: string; path: string }): Target => ({
  method: route.method,
  path: route.path,
  operation: null,
  route: null,
  base: apiBase,
  routeMethod: route.method,
  routePath: route.path,
})

/**
 * Lists what existing clients can call: all operations of the table, and the routes that it does not change.
 *
 * @param routes of the hub; those of modules are answered as they are
 * @throws Error for an operation without a route
 */
export function createTargets(
  routes: readonly Route[],
  moduleRoutes: readonly ModuleRoute[],
): PathIndex<Target> {
  const byName = new Map(
    [
      ...routes.map((route) => ({ route, base: apiBase })),
      ...dialectRoutes.map((route) => ({ route, base: dialectBase })),
    ].map(({ route, base }) => [
      toRouteName(route),
      { ...toTarget(route), base, route: describeRoute(route) },
    ]),
  )
  const ofTable = operations.map((operation) => {
    const found = byName.get(operation.ours)
    if (!found) throw new Error(`No route answers ${operation.theirs}: ${operation.ours}`)
    return { ...found, ...toPathRoute(operation.theirs), operation }
  })
  const others = [...moduleRoutes, { method: 'get', path: '/openapi.json' }].map(toTarget)
  return createPathIndex<Target>([...ofTable, ...byName.values(), ...others])
}
