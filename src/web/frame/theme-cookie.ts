import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import type { HubEnv } from '../../hub/http/page-entry'
import { type Theme, themes } from './frame'

const name = 'rookery_theme'
const yearSeconds = 365 * 24 * 60 * 60

/** Returns the theme that this browser chose. */
export const readTheme = (c: Context<HubEnv>): Theme =>
  themes.find((theme) => theme === getCookie(c, name)) ?? 'system'

/** Keeps the theme in this browser for a year. */
export function setTheme(c: Context<HubEnv>, theme: Theme): void {
  const maxAge = theme === 'system' ? 0 : yearSeconds
  setCookie(c, name, theme, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    maxAge,
    secure: c.var.isSecure,
  })
}
