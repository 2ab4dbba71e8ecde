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
  /** Where requests may go: `host` or `host:port`. For servers that speak another protocol than HTTP. */
  hosts: string[]
  /** Private addresses too: declared so by an admin and allowed by the deployment. */
  allowPrivate: boolean
  /**
   * For servers that sign requests or log in with it; null: there is none. Whatever holds it is cut
   * out of results, errors and logs, and it must not go into an address.
   */
  credential: string | null
  /** Refuses a host that is private, unless that is allowed; for the same servers, before they connect. */
  guardHost(hostname: string): Promise<void>
  /** For texts that a server itself decodes, so that no half of a credential is left when it cuts them. */
  scrub(text: string): string
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
