import type { OpenedSession } from '../../hub/sign-in/actions'
import { describeDevice } from '../../hub/sign-in/describe-device'
import type { PageContext } from '../frame/send-page'
import { setSessionCookie } from '../frame/session-cookie'

/** Returns a name for the device of a request. */
export const findDevice = (c: PageContext): string => describeDevice(c.req.header('user-agent'))

/** Stores an opened session in its cookie and redirects. */
export function redirectSignedIn(c: PageContext, session: OpenedSession, next: string): Response {
  setSessionCookie(c, session)
  return c.redirect(next, 303)
}
