import { AppError } from '../../shared/errors'
import { connectPath } from '../../shared/paths'
import type { ServiceRow } from '../services/queries'
import type { AccountOwner } from './connection'

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
