import type { Hono } from 'hono'
import { AppError } from '../../errors'
import { readCursor } from '../cursor'
import { readCredential, requireViewer } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { page, readPage, rowsOf, sendPage } from '../web/answer-page'
import { InboxPage } from './inbox-page'
import { type InboxRow, readAllItems, selectOwnItems } from './queries'

const itemsPerPage = 50

/** Registers `GET /inbox`, and `POST /inbox/read`, which marks all items as read. */
export function registerInboxPages(app: Hono<HubEnv>): void {
  app.get(
    '/inbox',
    page(async (c) => {
      const { db, clock } = c.var.context
      const credential = await readCredential(c)
      if (!credential) throw signInRequired()
      const cursor = readCursor(c.req.query('cursor'))
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
      await readAllItems(db, viewer.id, clock.now()).run()
      return c.redirect('/inbox', 303)
    }),
  )
}

const signInRequired = (): AppError => new AppError('UNAUTHORIZED', 'Sign in to see your inbox.')
