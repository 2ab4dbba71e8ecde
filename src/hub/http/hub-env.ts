import type { Hono } from 'hono'
import type { ActionContext, ContextDeps } from '../action-context'
import type { RoomPage, RoomRoute } from '../contract'

/** What the hub is built from. */
export interface HubDeps extends ContextDeps {
  /** Routes of other rooms on the same origin, e.g. `/mcp`; `registerPages` uses it too. */
  mounts?: (app: Hono<HubEnv>) => void
  /** Those of them that are part of the JSON API, for its description. */
  roomRoutes?: readonly RoomRoute[]
  /** Pages of other rooms, shown in the hub's frame. */
  roomPages?: readonly RoomPage[]
}

/** Hono's environment: what `prepareRequest` sets for every request. */
export interface HubEnv {
  Variables: {
    context: ActionContext
    requestId: string
    /** Methods of the routes that have this path, for 405. */
    allowed?: string[]
  }
}
