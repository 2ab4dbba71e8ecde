import * as z from 'zod'
import type { Route } from '../http/route'

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
