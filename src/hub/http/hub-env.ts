import type { Hono } from 'hono'
import type { ActionContext, ContextDeps } from '../action-context'
import type { ModuleRoute } from '../contract/hub'

/** A route of the JSON API, as its documentation page lists it. */
export interface RouteSummary {
  method: string
  /** Below `/api/v1`. */
  path: string
  summary: string
  tag: string
}

/** Dependencies of the hub. */
export interface HubDeps extends ContextDeps {
  /** Mounts routes of other modules on the same origin, e.g. `/mcp`. */
  mounts?: (app: Hono<HubEnv>) => void
  /** Routes of other modules that are part of the JSON API, for its documentation. */
  moduleRoutes?: readonly ModuleRoute[]
  /** Registers the pages; `routes` are those of the JSON API, for its documentation page. */
  pages?: (app: Hono<HubEnv>, routes: RouteSummary[]) => void
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
