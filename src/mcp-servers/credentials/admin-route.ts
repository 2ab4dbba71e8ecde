import type * as z from 'zod'
import type { ConversationDoor, GrantDoor, RoomRoute } from '../../hub/contract'
import type { AccountId, Clock } from '../../ids'
import type { Narrowing } from '../contract'
import type { ActivationTokens } from '../outside/activation-token'
import type { Remotes } from '../remote/remotes'
import type { Services } from '../services/services'
import type { Vault } from './vault'

export interface AdminRoomDeps {
  vault: Vault
  services: Services
  remotes: Remotes
  tokens: ActivationTokens
  clock: Clock
  /** Returns the tool restrictions of an agent's definition; null when it cannot be read. */
  readNarrowing(agent: string, etag: string): Promise<Narrowing | null>
  hub: GrantDoor & ConversationDoor
}

export interface Admin {
  id: AccountId
  name: string
}

export interface AdminCall {
  deps: AdminRoomDeps
  admin: Admin
  /** The path parameters, by name. */
  params: Record<string, string>
  /** The body as the route's schema parsed it. */
  body: unknown
}

/** A route of the admin API: its schemas, documentation and handler. */
export interface AdminRoute extends RoomRoute {
  /** Schemas of path parameters; absent: that of the names of credentials and services. */
  params?: Record<string, z.ZodType<string>>
  handle(call: AdminCall): Promise<object>
}
