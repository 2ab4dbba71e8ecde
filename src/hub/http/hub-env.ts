import type { Context, Hono } from 'hono'
import type { CallClass } from '../../shared/config'
import type { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { isLoopbackHost } from '../../shared/ip-address'
import type { Settings } from '../../shared/settings'
import type { Access, ApiTag } from '../contract/access'
import type { ModuleRoute, RateRefusal } from '../contract/hub'
import type { ActionContext, ContextDeps } from '../database/action-context'
import type { Credential } from '../viewers/queries'
import type { RateDecision } from './rate-counting'
import type { RateLimiter } from './rate-limiter'

/** How accounts are registered without an admin; `private`: not at all, and nobody reads without a key. */
export type RegistrationMode = 'open' | 'claim' | 'closed' | 'private'

/** @param origin of the hub's links */
export function findRegistrationMode(
  settings: Pick<Settings, 'ROOKERY_PUBLIC' | 'ROOKERY_REGISTRATION'>,
  origin: string,
): RegistrationMode {
  if (!settings.ROOKERY_PUBLIC) return 'private'
  const isLocal = isLoopbackHost(new URL(origin).hostname)
  return settings.ROOKERY_REGISTRATION ?? (isLocal ? 'open' : 'claim')
}

/** An example of a call of the JSON API. */
export interface Example {
  /** Below `/api/v1`, with its parameters and query. */
  path: string
  /** Undefined for a call without a body. */
  body: unknown
  answer: Record<string, unknown>
}

/** A route of the JSON API, as its documentation pages show it. */
export interface RouteSummary {
  method: string
  /** Below `/api/v1`, in Hono's notation. */
  path: string
  summary: string
  tag: ApiTag
  access: Access
  /** Its body is an image. */
  takesImage: boolean
  /** Its body is of another service. */
  takesDelivery: boolean
  getExample(): Example
}

/** The disk that a hub on one machine stores on. */
export interface Disk {
  /** `low` and `critical`: an operator should free space. `full`: writes fail. */
  state: 'ok' | 'low' | 'critical' | 'full'
  free_bytes: number
}

/** The machine of a hub that `npm start` runs. */
export interface Machine {
  disk: Disk
  agents: {
    /** `loading`: the folders of `agents/` are sent to the hub, so a mention may reach no agent yet. */
    state: 'loading' | 'loaded'
    /** Folders that were refused; their agents have no version, or the one before. */
    failed: number
  }
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
  /** Reads the state of this machine. Absent where the platform runs the hub. */
  readMachine?: (() => Promise<Machine>) | undefined
  /** Registers the pages; `routes` are those of the JSON API, for its documentation pages. */
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
    /** Methods of the routes with this path, for 405 responses. */
    allowed?: string[]
  }
}
