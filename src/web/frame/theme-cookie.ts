import { getCookie, setCookie } from 'hono/cookie'
import { type Theme, themes } from './frame'
import type { PageContext } from './send-page'

const name = 'rookery_theme'
const yearSeconds = 365 * 24 * 60 * 60

/** Returns the theme that this browser chose. */
export const readTheme = (c: PageContext): Theme =>
  themes.find((theme) => theme === getCookie(c, name)) ?? 'system'

/** Keeps the theme in this browser for a year. */
export function setTheme(c: PageContext, theme: Theme): void {
  const maxAge = theme === 'system' ? 0 : yearSeconds
  setCookie(c, name, theme, {
    ...{ httpOnly: true, sameSite: 'Lax', path: '/', maxAge },
    secure: c.var.isSecure,
  })
}
