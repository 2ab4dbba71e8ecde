import type { Context } from 'hono'
import { type HubEnv, readCookie, writeCookie } from '../../hub/http/page-entry'
import { type Theme, themes } from './frame'

const yearSeconds = 365 * 24 * 60 * 60

/** Returns the theme that this browser chose. */
export const readTheme = (c: Context<HubEnv>): Theme =>
  themes.find((theme) => theme === readCookie(c, 'theme')) ?? 'system'

/** Keeps the theme in this browser for a year. */
export const setTheme = (c: Context<HubEnv>, theme: Theme): void =>
  writeCookie(c, 'theme', theme, { maxAge: theme === 'system' ? 0 : yearSeconds })
