import type { Context } from 'hono'
import type * as z from 'zod'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract'
import type { Done } from '../idempotency/run-once'
import type { Credential, Viewer } from '../keys/queries'
import type { ReadAs } from './authenticate'
import type { HubEnv } from './hub-env'

/**
 * Who may call: `open` anybody; `read` anybody on a public hub, else a key; `own` a key, resolved by
 * the handler's own batch; `write` a key with that scope; `admin` an admin's.
 */
export type Access = 'open' | 'read' | 'own' | 'write' | 'admin'

/** One call of an API route. */
export interface Call<Query, Body> {
  c: Context<HubEnv>
  context: ActionContext
  query: Query
  body: Body
  credential: Credential | null
  param(name: string): string
  /** Runs a page's reads with its viewer, in one round trip. */
  read(statements: D1PreparedStatement[]): Promise<ReadAs>
  /** The caller of a `write` or `admin` route. */
  viewer(): Viewer
  actor(): Actor
}

/** One API route: what validates it is also what documents it. */
export interface Route {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below `/api/v1`, in Hono's notation. */
  path: string
  summary: string
  tag: string
  access: Access
  status: 200 | 201 | 202
  bytesMax?: number
  query?: z.ZodType
  body?: z.ZodType
  /** The body of the answer; a whole answer for what others have given a form. */
  // biome-ignore lint/suspicious/noExplicitAny: each handler knows its own query and body
  handle(call: Call<any, any>): Promise<object>
}

/** What the API's description tells of a route. */
export type DescribedRoute = Omit<Route, 'handle' | 'bytesMax'>

type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined

/** Declares a route; the handler's query and body have the types of the schemas. */
export function route<
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  declaration: Omit<Route, 'query' | 'body' | 'handle' | 'status'> & {
    status?: 200 | 201 | 202
    query?: Query
    body?: Body
    handle(call: Call<Output<Query>, Output<Body>>): Promise<object>
  },
): Route {
  return { status: 200, ...declaration } as Route
}

/** An answer of an idempotent write; tells the client when it is the first one again. */
export function presentOnce<Answer>(
  call: Call<unknown, unknown>,
  done: Done<Answer>,
  present: (answer: Answer) => object,
): object {
  if (done.isReplay) call.c.header('idempotent-replay', 'true')
  return present(done.answer)
}
