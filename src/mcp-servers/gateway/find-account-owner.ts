import type { GrantPolicy } from '../../hub/contract/hub'
import type { AccountOwner } from '../credentials/connection'
import { coversGrant } from '../tool/grant-pattern'
import { gatewayErrors } from './errors'

/** Whether a line of a policy that holds says that calls with a grant use the account of the requester. */
export const usesRequester = ({ asRequester = [] }: GrantPolicy, grant: string): boolean =>
  asRequester.some((pattern) => coversGrant(pattern, grant))

/**
 * Returns the requester whose connected account a call has to use; null: a credential of the hub.
 *
 * @param policy the one that the decision about the call is based on
 * @throws when there is no single requester, for whom no such line of a policy holds
 */
export function findAccountOwner(
  policy: GrantPolicy | undefined,
  grant: string,
): AccountOwner | null {
  if (!policy || !usesRequester(policy, grant)) return null
  const [only, ...others] = policy.requesters ?? []
  if (only?.id === undefined || others.length > 0) throw gatewayErrors.noSingleRequester()
  return { id: only.id, name: only.name }
}
