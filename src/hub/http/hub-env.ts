import type { Hono } from 'hono'
import type { ActionContext, ContextDeps } from '../action-context'

/** What the hub is built from. */
export interface HubDeps extends ContextDeps {
  /** Routes of other rooms on the same origin, e.g. `/mcp`; `registerPages` uses it too. */
  mounts?: (app: Hono<HubEnv>) => void
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
