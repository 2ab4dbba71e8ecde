import type * as z from 'zod'
import type {
  AdminAction,
  ConversationApi,
  GrantApi,
  ModuleRoute,
  Sender,
} from '../../hub/contract/hub'
import type { Clock } from '../../shared/ids'
import type { ToolRestrictions } from '../contract/tools'
import type { Vault } from '../credentials/vault'
import type { ModelAdmin } from '../models/model-admin'
import type { ActivationTokens } from '../outside/activation-token'
import type { Remotes } from '../remote/remotes'
import type { Services } from '../services/services'

export interface AdminRouteDeps {
  vault: Vault
  services: Services
  remotes: Remotes
  modelAdmin: ModelAdmin
  tokens: ActivationTokens
  clock: Clock
  /** Returns the tool restrictions of an agent's definition; null when it cannot be read. */
  readToolRestrictions(agent: string, etag: string): Promise<ToolRestrictions | null>
  hub: GrantApi & ConversationApi
}

export type Admin = Pick<Sender, 'id' | 'name' | 'keyId'>

export interface AdminCall {
  deps: AdminRouteDeps
  admin: Admin
  /** The path parameters, by name. */
  params: Record<string, string>
  /** Query and body as the route's schemas parsed them. */
  query: unknown
  body: unknown
}

/** A route of the admin API: its schemas, documentation and handler. */
export interface AdminRoute extends ModuleRoute {
  /** Schemas of path parameters; absent: that of the names of credentials and services. */
  params?: Record<string, z.ZodType<string>>
  handle(call: AdminCall): Promise<object>
}

interface Target {
  /** Name of a credential, a remote server or, with its server, of a service. */
  name: string
  /** Settings without secrets: headers and values are left out. */
  after?: Record<string, unknown>
}

type AdminTarget = 'credential' | 'service' | 'remote_server' | 'activation'

/** Records what an admin is about to do, before it is done. */
export const recordAction = (
  hub: Pick<GrantApi, 'recordAdminAction'>,
  admin: Pick<Sender, 'id' | 'keyId'>,
  targetType: AdminTarget,
  action: string,
  { name, after }: Target,
): Promise<void> => {
  const entry: AdminAction = { action: `${targetType}.${action}`, targetType, targetId: name }
  return hub.recordAdminAction(admin, after === undefined ? entry : { ...entry, after })
}

/** The settings of a service that are recorded: its headers can contain secrets. */
export const toServiceSettings = (service: {
  base_url: string
  hosts?: string[] | undefined
  credential?: string | null | undefined
  allow_http?: boolean | undefined
  allow_private?: boolean | undefined
}): Record<string, unknown> => ({
  origin: URL.parse(service.base_url)?.origin ?? null,
  hosts: service.hosts ?? [],
  credential: service.credential ?? null,
  allow_http: service.allow_http ?? false,
  allow_private: service.allow_private ?? false,
})
