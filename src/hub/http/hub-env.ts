import type { Hono } from 'hono'
import type { AgentApi, SchedulerApi } from '../../agents/contract'
import type { Settings } from '../../config'
import type { Clock } from '../../ids'
import type { ActionContext, LivePublisher } from '../action-context'

/** What the hub is built from. */
export interface HubDeps {
  binding: D1Database
  settings: Settings
  clock: Clock
  agents: AgentApi
  scheduler: SchedulerApi
  live: LivePublisher
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
