import { AppError } from '../../errors'
import type { GrantDoor, Person } from '../../hub/contract'
import { findKeyHolder } from './authenticate-caller'

/** The admin whose key a request carries; throws when it is nobody's, or not an admin's. */
export async function authenticateAdmin(
  hub: GrantDoor,
  request: Request,
  now: number,
): Promise<Person> {
  const found = await findKeyHolder(hub, request, now)
  if (!found) {
    throw new AppError('UNAUTHORIZED', 'An API key is needed.', {
      hint: 'Send an admin\'s key as "Authorization: Bearer <key>".',
    })
  }
  const scope = request.method === 'GET' ? 'read' : 'write'
  if (found.isAdmin !== true || !found.scopes.includes(scope)) {
    throw new AppError('FORBIDDEN', 'Only an admin may do this.', {
      hint: "The admin's key is ROOKERY_ADMIN_KEY; `npm start` keeps it as admin-key in its state directory.",
    })
  }
  return found
}
