import type { Actor, ConversationApi } from '../../hub/contract/hub'
import { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { connectPath } from '../../shared/paths'
import type { GuardedFetch, GuardedStream } from '../fetch/guarded-fetch'
import type { ServiceRow } from '../services/queries'
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

/** The account of one requester at a service, for one call. */
export interface OwnAccess {
  /** Returns the present access token. */
  token(): string
  /**
   * Gets a new access token, after the service refused the present one.
   *
   * @throws AccountMissingError when the service ends the access
   */
  renew(): Promise<void>
}

/** Opens the accounts that requesters have connected. */
export interface OwnAccounts {
  /**
   * @param link `onSecrets` is called with every token before it is used, so that it is redacted
   * @throws AccountMissingError when the owner has connected none, or its access has ended
   */
  open(
    owner: AccountOwner,
    service: ServiceRow,
    link: { signal: AbortSignal; onSecrets: (secrets: string[]) => void },
  ): Promise<OwnAccess>
}

/** The beginning of the reason in the audit, by which the thread offers to connect the account. */
const missingStart = 'No connected account'

/** A call needs an account that its requester has not connected, or whose access has ended. */
export class AccountMissingError extends AppError {
  constructor({ name }: Pick<AccountOwner, 'name'>, service: string) {
    super('UNAVAILABLE', `${missingStart} of the requester at ${service}.`, {
      hint: `Only @${name} can connect it: at ${connectPath(service)} on this hub, or with the link below your answer. Then @${name} can ask again.`,
    })
  }
}
