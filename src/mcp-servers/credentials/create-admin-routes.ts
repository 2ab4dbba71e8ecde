import type * as z from 'zod'
import { AppError, notFound } from '../../errors'
import { authenticateAdmin } from '../outside/authenticate-admin'
import type { Admin, AdminRoomDeps, AdminRoute } from './admin-route'
import { adminRoutes, nameInput } from './admin-routes'

interface AdminDeps extends AdminRoomDeps {
  /** Told what nobody foresaw. */
  reportFailure: (error: unknown) => void
}

/** Far more than the longest credential. */
const bodyCharsMax = 64 * 1024

/**
 * The handler for `adminRoutes`, for admins with their key (M5). It is here and not in the hub, so that
 * a credential never passes through it. No cookie is taken, so no page elsewhere can use a browser
 * for it.
 */
export function createAdminRoutes(deps: AdminDeps): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const admin = await authenticateAdmin(deps.hub, request, deps.clock.now())
      return Response.json({ success: true, ...(await answer(deps, admin, request)) })
    } catch (error) {
      return refuse(deps, error)
    }
  }
}

async function answer(deps: AdminDeps, admin: Admin, request: Request): Promise<object> {
  const { route, given } = findRoute(request)
  const params = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      parse(route.params?.[name] ?? nameInput, value, name),
    ]),
  )
  const body = route.body ? parse(route.body, await readBody(request), 'body') : undefined
  return route.handle({ deps, admin, params, body })
}

/** @throws NOT_FOUND, METHOD_NOT_ALLOWED */
function findRoute({ url, method }: Request): {
  route: AdminRoute
  given: Record<string, string>
} {
  const path = new URL(url).pathname.replace(/^\/api\/v1|\/$/g, '')
  const fitting = adminRoutes.flatMap((route) => {
    const given = matchPath(route.path, path)
    return given ? [{ route, given }] : []
  })
  const found = fitting.find(({ route }) => route.method.toUpperCase() === method)
  if (found) return found
  if (fitting.length === 0) throw notFound('path')
  const methods = fitting.map(({ route }) => route.method.toUpperCase())
  throw new AppError('METHOD_NOT_ALLOWED', 'This does not work here.', {
    hint: `Use ${methods.join(' or ')}.`,
  })
}

/** What stands for the names in `/services/:server/:name`; null when the path is another. */
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

async function readBody(request: Request): Promise<unknown> {
  const text = await request.text()
  if (text.length > bodyCharsMax) throw new AppError('TOO_LARGE', 'The request is too large.')
  try {
    return JSON.parse(text)
  } catch {
    // Without the parser's message, which quotes what it read.
    throw new AppError('VALIDATION', 'The body is not valid JSON.')
  }
}

export function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new AppError('VALIDATION', 'The request is not valid.', {
    details: parsed.error.issues.map(({ path, message }) => ({
      path: [place, ...path.map(String)].join('.'),
      message,
    })),
  })
}

function refuse(deps: AdminDeps, error: unknown): Response {
  if (!(error instanceof AppError)) deps.reportFailure(error)
  const known =
    error instanceof AppError
      ? error
      : new AppError('INTERNAL', 'Something went wrong on our side.', { hint: 'Try again.' })
  const { message, code, hint, details, status } = known
  return Response.json(
    { success: false, error: message, code, hint, ...(details && { details }) },
    { status, headers: status === 401 ? { 'www-authenticate': 'Bearer' } : {} },
  )
}
