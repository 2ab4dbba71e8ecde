import { writeCookie } from '../../hub/http/page-entry'
import type { PageContext } from './send-page'

/** Keeps a browser session in its cookie. An `expiresAt` of 0 removes it. */
export const setSessionCookie = (
  c: PageContext,
  { token, expiresAt }: { token: string; expiresAt: number },
): void => writeCookie(c, 'session', token, { expires: new Date(expiresAt) })
