import type { Hono } from 'hono'
import { type ApiTag, apiTags } from '../../hub/contract/api-tags'
import type { HubEnv, RouteSummary } from '../../hub/http/page-entry'
import { notFound } from '../../shared/errors'
import { page, readPage, sendPage } from '../frame/send-page'
import { DocsPage } from './docs-page'
import { GroupPage } from './group-page'

const isTag = (name: string | undefined): name is ApiTag =>
  name !== undefined && Object.hasOwn(apiTags, name)

/** Registers `GET /docs`: setup of models, agents and accounts, and the API by what people do; and a page for each group. */
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
  app.get(
    '/docs/:group',
    page(async (c) => {
      const tag = c.req.param('group')
      if (!isTag(tag)) throw notFound('page', 'Open /docs.')
      const { frame } = await readPage(c, {})
      return sendPage(
        c,
        <GroupPage frame={frame} origin={c.var.origin} tag={tag} routes={routes} />,
      )
    }),
  )
}
