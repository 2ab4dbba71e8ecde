import { setCookie } from 'hono/cookie'
import { sessionCookie } from '../../hub/http/authenticate'
import type { PageContext } from './send-page'

/** Stores a browser session in its cookie. @param expiresAt milliseconds since the Unix epoch; 0 ends it */
export function setSession(c: PageContext, token: string, expiresAt: number): void {
  setCookie(c, sessionCookie, token, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: c.var.isSecure,
    expires: new Date(expiresAt),
  })
}
