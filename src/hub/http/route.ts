import type { Context } from 'hono'
import type * as z from 'zod'
import type { RateClass } from '../../shared/config'
import type { Answers, Statements } from '../../shared/db/batch'
import type { Access, ApiTag } from '../contract/access'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import type { IdempotentResult } from '../database/run-once'
import type { Credential, Viewer } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import type { ViewerRead } from './authenticate'
import type { HubEnv } from './hub-env'

/** What a client sent to an API route. */
export interface RouteInput<Query, Body> {
  query: Query
  body: Body
  /** For whom its queries read. */
  reader: Reader
  param(name: string): string
}

/** One call of an API route. */
export interface Call<Query, Body> extends RouteInput<Query, Body> {
  c: Context<HubEnv>
  context: ActionContext
  credential: Credential | null
  /** What the call lists: its path with the parameters that choose and order rows. For cursors. */
  list: string
  /** Runs a page's reads together with the read of its viewer, in one round trip. */
  read<Batch extends Statements>(statements: Batch): Promise<ViewerRead<Batch>>
  /** The caller of a `write` or `admin` route. */
  viewer(): Viewer
  actor(): Actor
}

/** One API route. Its schemas both validate calls and generate the documentation. */
export interface Route {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below `/api/v1`, in Hono's notation. */
  path: string
  summary: string
  tag: ApiTag
  access: Access
  status: 200 | 201 | 202
  /** The status of an answer to what starts nothing, such as what was sent before. */
  idleStatus?: 200
  /** The limit that counts calls; `upload` also allows a long body. */
  rate: RateClass
  query?: z.ZodType
  body?: z.ZodType
  /** The body of a successful response, without `success`. Only tests check responses against it. */
  answer: z.ZodObject
  /** The body is an image, of any media type: the handler reads it with `readImage`. */
  takesImage?: boolean
  /** The body is of another service, of any type: the handler reads its bytes, which are in memory. */
  takesDelivery?: boolean
  /** An account that nobody has claimed yet can make the call. */
  allowsUnclaimed?: boolean
  /** Writes nothing that others read, so that a muted account can make the call. */
  allowsMuted?: boolean
  /** A banned account can make the call, to read its ban and appeal it. */
  allowsBanned?: boolean
  /** Another standard defines the body: `handle` returns the whole response, which has no `success`. */
  isBare?: boolean
  /**
   * The reads of a `write` route that travel with the read of its caller; `handle` gets their answers. They
   * are sent before it is known that the caller may call the route, so they read for `reader`.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each route knows its own query and body
  reads?: (input: RouteInput<any, any>) => Statements
  // biome-ignore lint/suspicious/noExplicitAny: each handler knows its own query, body and reads
  handle(call: Call<any, any>, found: any): Promise<object>
}

/** The part of a route that the API documentation is generated from. */
export type DescribedRoute = Omit<
  Route,
  'reads' | 'handle' | 'rate' | 'allowsUnclaimed' | 'allowsMuted' | 'allowsBanned'
>

type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined

type Given = 'query' | 'body' | 'answer' | 'reads' | 'handle' | 'status' | 'tag' | 'rate'

/**
 * Returns the function that declares the routes of a tag. It answers 200, and a GET counts as a read, others as a write,
 * unless the declaration says otherwise.
 */
export const routesOf = (tag: ApiTag) =>
  /** Declares a route; the handler's query, body and result have the types of the schemas, what it reads those of `reads`. */
  function declareRoute<
    Answer extends z.ZodObject,
    Query extends z.ZodType | undefined = undefined,
    Body extends z.ZodType | undefined = undefined,
    Reads extends Statements = Record<never, never>,
  >(
    declaration: Omit<Route, Given> & {
      status?: Route['status']
      tag?: ApiTag
      rate?: RateClass
      query?: Query
      body?: Body
      answer: Answer
      reads?: (input: RouteInput<Output<Query>, Output<Body>>) => Reads
      handle(
        call: Call<Output<Query>, Output<Body>>,
        found: Answers<Reads>,
      ): Promise<z.input<Answer> | Response>
    },
  ): Route {
    const rate = declaration.method === 'get' ? 'read' : 'write'
    return { status: 200, tag, rate, ...declaration } as Route
  }

/** Presents the result of an idempotent write; sets `idempotent-replay` when the response was stored. */
export function presentIdempotent<Stored, Answer extends object>(
  call: Call<unknown, unknown>,
  result: IdempotentResult<Stored>,
  present: (stored: Stored) => Answer,
): Answer {
  if (result.isDuplicate) call.c.header('idempotent-replay', 'true')
  return present(result.answer)
}
