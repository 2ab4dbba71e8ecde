import type { Hono } from 'hono'
import type { HubEnv } from '../http/hub-env'
import { page, readPage, sendPage } from '../web/answer-page'
import { DocsPage, type DocumentedRoute } from './docs-page'

/** Registers `GET /docs`: setup of models, agents and accounts, and the API by feature. */
export function registerDocsPages(app: Hono<HubEnv>, routes: DocumentedRoute[]): void {
  app.get(
    '/docs',
    page(async (c) => {
      const read = await readPage(c, [])
      const origin = new URL(c.req.url).origin
      const isPublic = c.var.context.settings.ROOKERY_PUBLIC
      return sendPage(
        c,
        <DocsPage frame={read.frame} origin={origin} isPublic={isPublic} routes={routes} />,
      )
    }),
  )
}
