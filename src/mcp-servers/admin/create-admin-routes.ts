import type * as z from 'zod'
import type { GrantApi, RequestCounts, Sender } from '../../hub/contract/hub'
import { describeIssue } from '../../shared/describe-issue'
import { AppError, type ErrorDetail } from '../../shared/errors'
import { noFields, toIssuePath } from '../../shared/known-fields'
import { toStorableJson } from '../../shared/texts'
import { credentialErrors } from '../credentials/errors'
import { callerErrors } from '../outside/activation-token'
import { findKeyHolder } from '../outside/authenticate-caller'
import type { Admin, AdminRoute, AdminRouteDeps } from './admin-route'
import { adminRoutes, nameInput } from './admin-routes'

interface AdminHandlerDeps extends AdminRouteDeps {
  /** Reports unexpected errors to the operator. */
  reportFailure: (error: unknown) => void
}

/** The longest body that is read; far longer than the longest credential. */
const bodyCharsMax = 64 * 1024

/**
 * Creates the handler of `adminRoutes`, for admins with an API key. It is separate from the hub, so that
 * no credential passes through the hub. Cookies are not accepted, which rules out cross-site requests.
 */
export function createAdminRoutes(
  deps: AdminHandlerDeps,
): (request: Request, counts: RequestCounts) => Promise<Response> {
  return async (request, counts) => {
    try {
      const admin = await authenticateAdmin(deps.hub, request, counts, deps.clock.now())
      return Response.json({ success: true, ...(await answer(deps, admin, request)) })
    } catch (error) {
      return refuse(deps, error)
    }
  }
}

async function answer(deps: AdminHandlerDeps, admin: Admin, request: Request): Promise<object> {
  const { route, given } = findRoute(request)
  const params = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      parse(route.params?.[name] ?? nameInput, value, name),
    ]),
  )
  const body = route.body ? parse(route.body, await readBody(request), 'body') : undefined
  if (!route.body && route.method !== 'get') await requireNoFields(request)
  const query = route.query ? parse(route.query, readQuery(request), 'query') : undefined
  return route.handle({ deps, admin, params, query, body })
}

/** @throws NOT_FOUND */
function findRoute({ url, method }: Request): {
  route: AdminRoute
  given: Record<string, string>
} {
  const path = new URL(url).pathname.replace(/^\/api\/v1|\/$/g, '')
  for (const route of adminRoutes) {
    const given = route.method.toUpperCase() === method ? matchPath(route.path, path) : null
    if (given) return { route, given }
  }
  throw credentialErrors.unknownPath()
}

/** Returns the path parameters of a pattern such as `/services/:server/:name`; null: no match. */
function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/')
  const given = path.split('/')
  const fits = (part: string, index: number) => part.startsWith(':') || part === given[index]
  if (wanted.length !== given.length || !wanted.every(fits)) return null
  const names = wanted.map((part, index) => [part, given[index] ?? ''] as const)
  return Object.fromEntries(
    names.flatMap(([part, value]) => (part.startsWith(':') ? [[part.slice(1), value]] : [])),
  )
}

/** Returns the query parameters, as the hub's own routes read them: empty values are dropped. */
const readQuery = ({ url }: Request): Record<string, string> =>
  Object.fromEntries([...new URL(url).searchParams].filter(([, value]) => value !== ''))

/** As the hub's own routes: a request that needs no body can have an empty one. */
async function requireNoFields(request: Request): Promise<void> {
  const text = await request.text()
  if (text !== '') parse(noFields, readJson(text), 'body')
}

const readBody = async (request: Request): Promise<unknown> => readJson(await request.text())

function readJson(text: string): unknown {
  if (text.length > bodyCharsMax) throw credentialErrors.bodyTooLarge()
  try {
    return toStorableJson(JSON.parse(text))
  } catch {
    // Without the parser's message, which quotes the input.
    throw credentialErrors.notJson()
  }
}

/**
 * Parses a value with a schema.
 *
 * @param place prefix of the paths in error details, such as `body`
 * @throws VALIDATION
 */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw credentialErrors.invalidRequest(toDetails(parsed.error, place))
}

/** Converts zod issues to details with field paths such as `body.name`. */
export const toDetails = (error: z.ZodError, place: string): ErrorDetail[] =>
  error.issues.map((issue) => ({
    path: [place, ...toIssuePath(issue)].join('.'),
    message: describeIssue(issue),
  }))

function refuse(deps: AdminHandlerDeps, error: unknown): Response {
  if (!(error instanceof AppError)) deps.reportFailure(error)
  const known = error instanceof AppError ? error : credentialErrors.internal()
  const { message, code, hint, details, status } = known
  return Response.json(
    { success: false, error: message, code, hint, ...(details && { details }) },
    { status, headers: status === 401 ? { 'www-authenticate': 'Bearer' } : {} },
  )
}

/** Returns the admin whose key a request has. @throws UNAUTHORIZED, FORBIDDEN */
async function authenticateAdmin(
  hub: GrantApi,
  request: Request,
  counts: RequestCounts,
  now: number,
): Promise<Sender> {
  const found = await findKeyHolder(hub, request, now)
  if (!found) throw callerErrors.keyMissing()
  counts.recordCaller(found.id)
  const scope = request.method === 'GET' ? 'read' : 'write'
  if (found.isAdmin !== true || !found.scopes.includes(scope)) {
    throw callerErrors.adminOnly()
  }
  return found
}
