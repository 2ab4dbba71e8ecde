import type { Context } from 'hono'
import type { HubEnv } from '../../hub/http/page-entry'
import { wasStorageFull } from '../../shared/db/database-fault'
import type { Frame } from './frame'
import { readTheme } from './theme-cookie'

/**
 * Returns the frame of a page without a viewer. Reads nothing from the database, which holds the model
 * providers that were set up on the models page: such a page never says that the hub has none.
 */
export function createFrame(c: Context<HubEnv>): Frame {
  const { settings, clock } = c.var.context
  return {
    hubName: settings.ROOKERY_NAME,
    viewer: null,
    theme: readTheme(c),
    isOffline: false,
    isStorageFull: wasStorageFull(Date.now()),
    now: clock.now(),
  }
}
