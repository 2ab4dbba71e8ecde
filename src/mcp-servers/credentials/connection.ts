import type { Actor, ConversationDoor } from '../../hub/contract'
import type { GuardedFetch } from '../fetch/guarded-fetch'
import type { Scrubber } from './scrub'

/** A service outside, opened for one call that has been decided. */
export interface Connection {
  service: string
  baseUrl: URL
  /** Those that every request carries, the credential filled in. */
  headers: Record<string, string>
  format: 'json' | 'any'
  /** Its answers hold no credential any more. */
  fetch: GuardedFetch
}

interface ConnectionAsk {
  server: string
  service: string
  actor: Actor
  hub: ConversationDoor
  signal: AbortSignal
}

/** Opens services: looks up the declaration and the credential. */
export type Connect = (ask: ConnectionAsk) => Promise<{
  connection: Connection
  scrubber: Scrubber
}>
