import type { Call, Route } from '../http/route'
import { backupErrors } from './errors'

/**
 * Returns a route that answers the admin key alone: a backup holds direct messages, which no admin can read. Who
 * operates the hub has the key, and the files of the hub.
 */
export const withAdminKey = (route: Route): Route => ({
  ...route,
  handle: async (call: Call<unknown, unknown>, found) => {
    if (call.credential?.isAdminKey) return route.handle(call, found)
    // A key that is not valid is refused for that, as everywhere. Other routes have looked at the caller already.
    if (route.access === 'own') await call.read({})
    throw backupErrors.adminKeyOnly()
  },
})
