import type { Hono } from 'hono'
import { decodeCursor } from '../../hub/cursor'
import { readCredential, requireViewer } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import { type InboxRow, markAllItemsRead, selectOwnItems } from '../../hub/inbox/queries'
import { AppError } from '../../shared/errors'
import { page, readPage, rowsOf, sendPage } from '../frame/send-page'
import { InboxPage } from './inbox-page'

const itemsPerPage = 50

/** Registers `GET /inbox`, and `POST /inbox/read`, which marks all items as read. */
export function registerInboxPages(app: Hono<HubEnv>): void {
  app.get(
    '/inbox',
    page(async (c) => {
      const { db, clock } = c.var.context
      const credential = await readCredential(c)
      if (!credential) throw signInRequired()
      const cursor = decodeCursor(c.req.query('cursor'))
      const before = Array.isArray(cursor) ? cursor : null
      const read = await readPage(c, [
        selectOwnItems(db, credential, clock.now(), {
          isUnread: false,
          before,
          limit: itemsPerPage + 1,
        }),
      ])
      if (!read.frame.viewer) throw signInRequired()
      const items = rowsOf<InboxRow>(read, 0)
      const last = items[itemsPerPage - 1]
      return sendPage(
        c,
        <InboxPage
          frame={read.frame}
          items={items.slice(0, itemsPerPage)}
          next={items.length > itemsPerPage && last ? [last.createdAt, last.id] : null}
        />,
      )
    }),
  )
  app.post(
    '/inbox/read',
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      const { db, clock } = c.var.context
      await markAllItemsRead(db, viewer.id, clock.now()).run()
      return c.redirect('/inbox', 303)
    }),
  )
}

const signInRequired = (): AppError => new AppError('UNAUTHORIZED', 'Sign in to see your inbox.')
