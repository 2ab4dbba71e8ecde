import type { GrantDoor } from '../../hub/contract'
import type { Tier, ToolCaller } from '../contract'

/**
 * Who calls from outside: the holder of the account key in `Authorization: Bearer <key>`; null
 * when there is none or nobody holds it. Only the key's hash leaves this function.
 */
export async function authenticateCaller(
  hub: GrantDoor,
  request: Request,
  now: number,
): Promise<ToolCaller | null> {
  const found = await findKeyHolder(hub, request, now)
  if (!found) return null
  const { id, name, kind, scopes } = found
  return { accountId: id, name, kind, activationId: null, postId: null, tiers: toTiers(scopes) }
}

/** The account whose key a request carries. */
export async function findKeyHolder(hub: GrantDoor, request: Request, now: number) {
  const key = /^Bearer +(\S{1,512})$/i.exec(request.headers.get('Authorization') ?? '')?.[1]
  return key === undefined ? null : hub.findCaller(await hashKey(key), now)
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
