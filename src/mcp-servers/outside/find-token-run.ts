import type { GrantApi } from '../../hub/contract/hub'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { ActivationTokens } from './activation-token'

/** The run that a token belongs to. */
interface TokenRun {
  agentId: AccountId
  activationId: ActivationId
  attempt: number | null
}

/** Returns the run of a token; null when the token is not valid, or its activation has ended or is another agent's. */
export async function findTokenRun(
  {
    hub,
    tokens,
  }: { hub: Pick<GrantApi, 'findActivation'>; tokens: Pick<ActivationTokens, 'read'> },
  token: string,
  now: number,
): Promise<TokenRun | null> {
  const claim = await tokens.read(token, now)
  const found = claim && (await hub.findActivation(claim.activationId))
  if (!found || found.id !== claim.accountId) return null
  return { agentId: found.id, activationId: claim.activationId, attempt: null }
}
