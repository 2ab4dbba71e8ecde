import type * as z from 'zod'
import type { ConversationApi, GrantApi, ModuleRoute, Sender } from '../../hub/contract/hub'
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
