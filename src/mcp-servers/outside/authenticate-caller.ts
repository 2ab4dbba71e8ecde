import type { GrantApi, RunningActivation } from '../../hub/contract/hub'
import { decidePrivacy } from '../../hub/contract/hub'
import { sha256 } from '../../shared/sha256'
import type { Tier, ToolCaller } from '../contract/tools'
import {
  type ActivationClaim,
  type ActivationTokens,
  isActivationToken,
  type TokenAudience,
} from './activation-token'

interface AuthenticationDeps {
  hub: GrantApi
  tokens: ActivationTokens
}

/**
 * Returns the external caller of a request: the owner of the API key in `Authorization: Bearer <key>`, or
 * the agent whose running activation a token names; null: no valid key or token. Only the hash of a key is
 * passed on.
 *
 * @param audience what a token has to open
 */
export async function authenticateCaller(
  deps: AuthenticationDeps,
  request: Request,
  now: number,
  audience: TokenAudience = 'mcp',
): Promise<ToolCaller | null> {
  const bearer = readBearer(request)
  if (bearer === null) return null
  if (isActivationToken(bearer)) return readToken(deps, bearer, audience, now)
  const found = await findHolder(deps.hub, bearer, now)
  if (!found) return null
  const { id, name, kind, keyId, scopes, writeBlock } = found
  return {
    accountId: id,
    keyId,
    name,
    kind,
    activationId: null,
    postId: null,
    tiers: toTiers(scopes),
    ...(writeBlock !== undefined && { writeBlock }),
  }
}

/** Returns the account whose key a request has; null: no valid key. */
export async function findKeyHolder(hub: GrantApi, request: Request, now: number) {
  const key = readBearer(request)
  return key === null ? null : findHolder(hub, key, now)
}

const readBearer = (request: Request): string | null =>
  /^Bearer +(\S{1,8000})$/i.exec(request.headers.get('Authorization') ?? '')?.[1] ?? null

const findHolder = async (hub: GrantApi, key: string, now: number) =>
  key.length > 512 ? null : hub.findCaller(await sha256(key), now)

/** The content of a token, and the activation that it was issued for, which runs. */
interface TokenActivation {
  claim: ActivationClaim
  activation: RunningActivation
}

/**
 * Returns the activation of a token; null when the token is not for this audience, has expired or was changed,
 * the activation does not run any more or belongs to another agent, or the attempt is not the current one.
 */
export async function findTokenActivation(
  {
    hub,
    tokens,
  }: { hub: Pick<GrantApi, 'findActivation'>; tokens: Pick<ActivationTokens, 'read'> },
  token: string,
  audience: TokenAudience,
  now: number,
): Promise<TokenActivation | null> {
  const claim = await tokens.read(token, now)
  if (!claim?.audience.includes(audience)) return null
  const activation = await hub.findActivation(claim.activationId)
  if (activation?.id !== claim.accountId) return null
  const isCurrent = claim.attempt === null || claim.attempt === activation.runAttempt
  return isCurrent ? { claim, activation } : null
}

/** Returns the agent of a token that opens what is asked for; else null. */
async function readToken(
  deps: AuthenticationDeps,
  token: string,
  audience: TokenAudience,
  now: number,
): Promise<ToolCaller | null> {
  const found = await findTokenActivation(deps, token, audience, now)
  if (!found) return null
  const { id: accountId, name, kind, postId } = found.activation
  const { activationId, toolRestrictions, attempt, workspace } = found.claim
  // What an external program has read is not in the journal, so it counts as untrusted.
  const caller = {
    accountId,
    name,
    kind,
    activationId,
    postId,
    isExternal: true,
    hasReadUntrusted: true,
    privacy: decidePrivacy(found.activation),
    ...(attempt !== null && { runAttempt: attempt }),
    ...(workspace && { workspace }),
  }
  return toolRestrictions === null ? caller : { ...caller, toolRestrictions }
}

/**
 * Whether a caller is offered resources, prompts and subscriptions. What a program reads with the token of a run stands
 * in its record, which has calls of tools alone.
 */
export const hasResources = ({ activationId }: ToolCaller, serverName: string | null): boolean =>
  activationId === null && (serverName === null || serverName === 'hub')

/** Converts the scopes of a key to the tiers of tools that it can call. */
const toTiers = (scopes: string[]): Tier[] => [
  ...(scopes.includes('read') ? (['read'] as const) : []),
  ...(scopes.includes('write') ? (['write', 'destructive'] as const) : []),
]
