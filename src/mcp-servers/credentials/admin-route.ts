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
  /** What an agent's definition takes away; null when it cannot be read. */
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
  /** What stands in the path, by name. */
  params: Record<string, string>
  /** As the route's schema gives it. */
  body: unknown
}

/** A route for admins: what validates it and documents it, and what it does. */
export interface AdminRoute extends RoomRoute {
  /** What names in the path look like; absent: as credentials and services do. */
  params?: Record<string, z.ZodType<string>>
  handle(call: AdminCall): Promise<object>
}
