import type { Actor, ConversationApi } from '../../hub/contract/hub'
import type { AccountId } from '../../shared/ids'
import type { GuardedFetch } from '../fetch/guarded-fetch'
import type { GuardedStream } from '../fetch/guarded-stream'
import type { Scrubber } from './scrub'

/** A connection to an external service, for one call that is allowed. */
export interface Connection {
  service: string
  baseUrl: URL
  /** The headers of every request, including the credential. */
  headers: Record<string, string>
  format: 'json' | 'any'
  /** The allowed hosts, as `host` or `host:port`; for servers that use another protocol than HTTP. */
  hosts: string[]
  /** Private addresses are allowed too: declared by an admin and permitted by the deployment. */
  allowPrivate: boolean
  /**
   * The credential, for servers that sign requests or log in; null: there is none. It is redacted from
   * results, errors and logs, and must not become part of a URL.
   */
  credential: string | null
  /** Throws when a host is private and that is not allowed; for servers that connect without `fetch`. */
  guardHost(hostname: string): Promise<void>
  /** Redacts the credential from a text that a server decoded itself, before the text is truncated. */
  scrub(text: string): string
  /** Sends requests. The credential is redacted from responses. */
  fetch: GuardedFetch
  /** Sends requests whose bodies are not held in memory; absent for the account of a requester. */
  stream?: GuardedStream
  /** The requester as whom requests are sent; null: a credential of the hub is used. */
  owner: AccountId | null
}

/** The requester whose connected account a call uses. */
export interface AccountOwner {
  id: AccountId
  name: string
}

export interface ConnectionRequest {
  server: string
  service: string
  actor: Actor
  /** Null: the credential of the service, a community or the agent is used. */
  owner: AccountOwner | null
  hub: ConversationApi
  signal: AbortSignal
}

/** Connects to a service: looks up its declaration and credential. */
export type Connect = (request: ConnectionRequest) => Promise<{
  connection: Connection
  scrubber: Scrubber
}>
