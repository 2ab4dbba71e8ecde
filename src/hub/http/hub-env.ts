import type { Hono } from 'hono'
import type { ActionContext, ContextDeps } from '../action-context'
import type { RoomPage, RoomRoute } from '../contract'

/** Dependencies of the hub. */
export interface HubDeps extends ContextDeps {
  /** Mounts routes of other modules on the same origin, e.g. `/mcp`. */
  mounts?: (app: Hono<HubEnv>) => void
  /** Routes of other modules that are part of the JSON API, for its documentation. */
  roomRoutes?: readonly RoomRoute[]
  /** Pages of other modules, rendered in the hub's layout. */
  roomPages?: readonly RoomPage[]
}

/** Hono environment: the variables that `prepareRequest` sets for every request. */
export interface HubEnv {
  Variables: {
    context: ActionContext
    requestId: string
    /** Methods of the routes with this path, for 405 responses. */
    allowed?: string[]
  }
}
