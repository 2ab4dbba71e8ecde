import type { GrantDoor } from '../../hub/contract'
import type { Tier, ToolCaller } from '../contract'
import { type ActivationTokens, isActivationToken } from './activation-token'

interface Doors {
  hub: GrantDoor
  tokens: ActivationTokens
}

/**
 * Who calls from outside: the holder of the account key in `Authorization: Bearer <key>`, or the agent
 * whose running activation a token names; null when there is none or nobody holds it. Only a key's hash
 * leaves this function.
 */
export async function authenticateCaller(
  doors: Doors,
  request: Request,
  now: number,
): Promise<ToolCaller | null> {
  const bearer = readBearer(request)
  if (bearer === null) return null
  if (isActivationToken(bearer)) return readToken(doors, bearer, now)
  const found = await findHolder(doors.hub, bearer, now)
  if (!found) return null
  const { id, name, kind, scopes } = found
  return { accountId: id, name, kind, activationId: null, postId: null, tiers: toTiers(scopes) }
}

/** The account whose key a request carries. */
export async function findKeyHolder(hub: GrantDoor, request: Request, now: number) {
  const key = readBearer(request)
  return key === null ? null : findHolder(hub, key, now)
}

const readBearer = (request: Request): string | null =>
  /^Bearer +(\S{1,8000})$/i.exec(request.headers.get('Authorization') ?? '')?.[1] ?? null

const findHolder = async (hub: GrantDoor, key: string, now: number) =>
  key.length > 512 ? null : hub.findCaller(await hashKey(key), now)

/** Signed is not enough: the activation may be over, or be another's by now. */
async function readToken(
  { hub, tokens }: Doors,
  token: string,
  now: number,
): Promise<ToolCaller | null> {
  const claim = await tokens.read(token, now)
  const found = claim && (await hub.findActivation(claim.activationId))
  if (!found || found.id !== claim.accountId) return null
  const { id: accountId, name, kind, postId } = found
  const { activationId, narrowing } = claim
  const caller = { accountId, name, kind, activationId, postId, isOutside: true }
  return narrowing === null ? caller : { ...caller, narrowing }
}

async function hashKey(key: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A key made for reading only must not write through a tool either. */
const toTiers = (scopes: string[]): Tier[] => [
  ...(scopes.includes('read') ? (['read'] as const) : []),
  ...(scopes.includes('write') ? (['write', 'destructive'] as const) : []),
]
