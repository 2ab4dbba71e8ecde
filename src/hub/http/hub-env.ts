import type { Context, Hono } from 'hono'
import type { CallClass } from '../../shared/config'
import type { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { ActionContext, ContextDeps } from '../action-context'
import type { ModuleRoute, RateRefusal } from '../contract/hub'
import type { RateLimiter } from '../rate-limits/rate-limiter'
import type { RateDecision } from '../rate-limits/token-bucket'
import type { Credential } from '../viewers/queries'

/** A route of the JSON API, as its documentation page lists it. */
export interface RouteSummary {
  method: string
  /** Below `/api/v1`. */
  path: string
  summary: string
  tag: string
}

/** The disk that a hub on one machine stores on. */
export interface Disk {
  /** `low` and `critical`: an operator should free space. `full`: writes fail. */
  state: 'ok' | 'low' | 'critical' | 'full'
  free_bytes: number
}

/** Dependencies of the hub. */
export interface HubDeps extends ContextDeps {
  rateLimiter: RateLimiter
  /** Returns the account that a token of another module is for; null: it is no such token, or not valid. */
  findTokenHolder?: (token: string) => Promise<AccountId | null>
  /** Mounts routes of other modules on the same origin, e.g. `/mcp`. */
  mounts?: (app: Hono<HubEnv>) => void
  /** Routes of other modules that are part of the JSON API, for its documentation. */
  moduleRoutes?: readonly ModuleRoute[]
  /** Reads how much room the disk of this machine has. Absent where the platform stores. */
  readDisk?: (() => Promise<Disk>) | undefined
  /** Registers the pages; `routes` are those of the JSON API, for its documentation page. */
  pages?: (app: Hono<HubEnv>, routes: RouteSummary[]) => void
  /** Renders the page of a request that is refused before its route runs, without a database read. */
  renderErrorPage?: (c: Context<HubEnv>, error: AppError) => Response | Promise<Response>
}

/** Hono environment: the variables that `prepareRequest` and `guardEntry` set for every request. */
export interface HubEnv {
  Variables: {
    context: ActionContext
    requestId: string
    /** Origin of the hub's links. It is configured or a loopback address, never another host. */
    origin: string
    /** Whether browsers reach the hub over TLS. */
    isSecure: boolean
    /** Whether the request was sent to a loopback address. */
    isLoopback: boolean
    rateDecision?: RateDecision
    /** The credential, once it was read; null: none. */
    credential?: Credential | null
    /** The account of the credential, once it was found to be valid. */
    accountId?: AccountId
    /** Counts what a request does beside itself, once the handler knows it. Null: it may be done. */
    countAs(rateClass: CallClass): Promise<RateRefusal | null>
    /** Returns an answer as the client of this request reads it. */
    adaptAnswer?: (answer: Record<string, unknown>) => Promise<Record<string, unknown>>
    /** Methods of the routes with this path, for 405 responses. */
    allowed?: string[]
  }
}
