import type { GrantApi, RequestCounts, Sender } from '../../hub/contract/hub'
import { findKeyHolder } from '../outside/authenticate-caller'
import { callerErrors } from '../outside/errors'

/** Returns the admin whose key a request has. @throws UNAUTHORIZED, FORBIDDEN */
export async function authenticateAdmin(
  hub: GrantApi,
  request: Request,
  counts: RequestCounts,
  now: number,
): Promise<Sender> {
  const found = await findKeyHolder(hub, request, now)
  if (!found) throw callerErrors.keyMissing()
  counts.recordCaller(found.id)
  const scope = request.method === 'GET' ? 'read' : 'write'
  if (found.isAdmin !== true || !found.scopes.includes(scope)) {
    throw callerErrors.adminOnly()
  }
  return found
}
