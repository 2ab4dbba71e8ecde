import type { Context } from 'hono'
import type { HubEnv } from '../../hub/http/page-entry'
import type { Frame } from './frame'
import { isOfflineHub } from './is-offline-hub'
import { readTheme } from './theme-cookie'

/** Returns the frame of a page without a viewer. Reads nothing from the database. */
export function createFrame(c: Context<HubEnv>): Frame {
  const { settings, clock } = c.var.context
  return {
    hubName: settings.ROOKERY_NAME,
    viewer: null,
    theme: readTheme(c),
    isOffline: isOfflineHub(settings),
    now: clock.now(),
  }
}
