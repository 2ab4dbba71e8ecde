import { setCookie } from 'hono/cookie'
import { sessionCookie } from '../../hub/http/page-entry'
import type { PageContext } from './send-page'

/** Keeps a browser session in its cookie. An `expiresAt` of 0 removes it. */
export function setSessionCookie(
  c: PageContext,
  { token, expiresAt }: { token: string; expiresAt: number },
): void {
  setCookie(c, sessionCookie, token, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: c.var.isSecure,
    expires: new Date(expiresAt),
  })
}
