import type { Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'

/** The accounts at other services that the accounts of the hub have connected. Part of the hub's contract. */
export interface ConnectedAccountsEnd {
  /**
   * Returns the writes that delete what an account has connected. `connected` answers with a function that then revokes
   * the tokens, where the services can; it never throws.
   */
  takeOf(accountId: AccountId): {
    connected: Statement<() => Promise<void>>
    attempts: Statement<void>
  }
}
