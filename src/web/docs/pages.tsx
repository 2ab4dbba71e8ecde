import type { Hono } from 'hono'
import type { HubEnv, RouteSummary } from '../../hub/http/page-entry'
import { page, readPage, sendPage } from '../frame/send-page'
import { DocsPage } from './docs-page'

/** Registers `GET /docs`: setup of models, agents and accounts, and the API by feature. */
export function registerDocsPages(app: Hono<HubEnv>, routes: RouteSummary[]): void {
  app.get(
    '/docs',
    page(async (c) => {
      const read = await readPage(c, {})
      const { origin } = c.var
      const isPublic = c.var.context.settings.ROOKERY_PUBLIC
      return sendPage(
        c,
        <DocsPage frame={read.frame} origin={origin} isPublic={isPublic} routes={routes} />,
      )
    }),
  )
}
