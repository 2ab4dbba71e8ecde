/**
 * The API of the accounts that people connect at remote MCP servers, to the pages about them. No function
 * takes or returns a token or a code: the authorization server's answer goes to a route of this module.
 * Types only.
 */
import type { Expression, Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'

/** An account at a remote server, as the account that connected it sees it. */
export interface ConnectedAccount {
  /** Name of the remote server. */
  service: string
  /** Its origin. */
  destination: string
  /** The authorization server. */
  issuer: string
  /** Separated by spaces; empty when the server named none. */
  scopes: string
  /** When the server ended the access; null: it is usable. */
  endedAt: number | null
  connectedAt: number
  lastUsedAt: number | null
}

export interface StartedConnection {
  /** The page where the person allows the access, and its host. */
  url: string
  label: string
}

/** Why the answer of an authorization server connected no account, as `/settings/connections?error=`. */
export type ConnectErrorCode = 'EXPIRED' | 'DENIED' | 'FAILED'

/** The path that authorization servers send a browser back to. */
export type ConnectCallbackPath = '/connect-callback'

export interface ConnectedAccountsApi {
  /** @param accountId an SQL expression, so that a page reads its viewer in the same round trip */
  select(accountId: Expression): Statement<ConnectedAccount[]>
  /**
   * Starts to connect an account.
   *
   * @param start `sessionHash` is that of the browser session, which alone can finish; `next` a path of
   *   this hub to go on to
   * @throws NOT_FOUND, UNAVAILABLE, FORBIDDEN
   */
  begin(start: {
    accountId: AccountId
    sessionHash: string
    service: string
    redirectUri: string
    next: string
  }): Promise<StartedConnection>
  /** Ends a connection and revokes its tokens, where the server can. @throws NOT_FOUND */
  disconnect(accountId: AccountId, service: string): Promise<{ isRevoked: boolean }>
}
