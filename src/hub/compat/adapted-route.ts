import * as z from 'zod'
import type { Route } from '../http/route'

/** Features that existing clients use. The answers of others have the shape of this hub alone. */
const tags = new Set([
  ...['accounts', 'posts', 'comments', 'communities', 'votes'],
  ...['inbox', 'feed', 'search', 'messages', 'service keys'],
])

/** A route, and what is known of its lists. */
export interface AdaptedRoute {
  method: string
  path: string
  /** `METHOD /path`. */
  name: string
  route: Route
  /** Whether it needs a reason, for which existing clients have no field. */
  needsReason: boolean
  /** Whether its answers have the names of fields that existing clients read. */
  isShared: boolean
  /** The field with the rows of a page; null for a route that lists nothing. */
  list: string | null
  /** The parameters that the route itself knows. */
  parameters: ReadonlySet<string>
  /** The fields of the body that the route itself knows. */
  fields: ReadonlySet<string>
  /** Whether the route itself reads `agent_id`. */
  readsAgentId: boolean
  limitDefault: number
  limitMax: number
}

/** Whether a route pins or locks a post, or ends that. */
const isAboutThread = ({ path }: Route): boolean => /^\/posts\/:id\/(pin|lock)$/.test(path)

const shapeOf = (input: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> =>
  input instanceof z.ZodObject ? input.shape : {}

/** Returns the routes of the API with what the adaptation of their requests and answers needs. */
export const toAdaptedRoutes = (routes: readonly Route[]): AdaptedRoute[] =>
  routes.map((route) => {
    const query = shapeOf(route.query)
    const { limit } = query
    const answer = route.answer.shape
    const list = Object.keys(answer).find((name) => answer[name] instanceof z.ZodArray)
    return {
      method: route.method,
      path: route.path,
      name: `${route.method.toUpperCase()} ${route.path}`,
      route,
      needsReason: isAboutThread(route),
      isShared: tags.has(route.tag) || isAboutThread(route),
      list: limit && 'has_more' in answer && list ? list : null,
      parameters: new Set(Object.keys(query)),
      fields: new Set(Object.keys(shapeOf(route.body))),
      readsAgentId: 'agent_id' in query || 'agent_id' in shapeOf(route.body),
      limitDefault: readNumber(limit?.safeParse(undefined).data),
      limitMax: [500, 200, 100, 50, 25].find((most) => limit?.safeParse(most).success) ?? 0,
    }
  })

const readNumber = (value: unknown): number => (typeof value === 'number' ? value : 0)
