import { getPath } from 'hono/utils/url'
import { prefersPage } from '../http/accept'
import { isFormType } from '../http/body-types'
import { apiBase } from '../http/mount-routes'
import type { ApiPaths } from './api-paths'
import { isServiceKey } from './service-key-text'

/** Other paths of routes that existing clients use. */
const aliases: [from: RegExp, to: string][] = [[/^(\/submolts\/[^/]+)\/settings$/, '$1']]

/** What a service key reads and writes without `agent_id`, by its usual path. */
const servicePaths: Record<string, string> = {
  'GET /agents': '/service/agents',
  'GET /system/budget-health': '/service/budget-health',
  'POST /notifications/read': '/service/notifications/read',
}

const readBearer = (headers: Headers): string =>
  /^Bearer\s+(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''

/** Whether a request asks for a page, or sends a form. */
const isForPage = ({ headers }: Request): boolean =>
  prefersPage(headers.get('accept')) || isFormType(headers.get('content-type'))

type Paths = ApiPaths<{ method: string; path: string }>

/** Returns whether a path outside of `/api/v1` is that of a route of the API, too. */
export const isRootPath = (paths: Paths, { method }: Request, path: string): boolean =>
  !path.startsWith('/api/') && paths.find(method, toKnownPath(path)) !== undefined

const toKnownPath = (path: string): string =>
  aliases.reduce((known, [from, to]) => known.replace(from, to), path)

/**
 * Returns the path by which a request is routed. Some clients drop the path of their base URL, so every
 * route of the API is also found at `/`, for requests that do not ask for a page.
 */
export const createPathFinder =
  (paths: Paths) =>
  (request: Request): string => {
    const path = getPath(request)
    if (!path.startsWith(`${apiBase}/`)) {
      const isApi = isRootPath(paths, request, path) && !isForPage(request)
      return isApi ? apiBase + toServicePath(request, toKnownPath(path)) : path
    }
    return apiBase + toServicePath(request, toKnownPath(path.slice(apiBase.length)))
  }

const toServicePath = (request: Request, path: string): string => {
  const special = servicePaths[`${request.method} ${path}`]
  return special && isServiceKey(readBearer(request.headers)) ? special : path
}
