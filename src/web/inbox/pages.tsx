import type { Hono } from 'hono'
import { type HubEnv, readCredential, requireViewer } from '../../hub/http/page-entry'
import { markAllItemsRead, selectOwnItems } from '../../hub/inbox/queries'
import { decodeKeyset, splitPage } from '../../shared/cursor'
import { run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import { page, readPage, sendPage } from '../frame/send-page'
import { InboxPage } from './inbox-page'

const itemsPerPage = 50

/** Registers `GET /inbox`, and `POST /inbox/read`, which marks all items as read. */
export function registerInboxPages(app: Hono<HubEnv>): void {
  app.get(
    '/inbox',
    page(async (c) => {
      const { clock } = c.var.context
      const credential = await readCredential(c)
      if (!credential) throw signInRequired()
      const before = decodeKeyset('/inbox', c.req.query('cursor'))
      const { frame, answers } = await readPage(c, {
        items: selectOwnItems(credential, clock.now(), {
          isUnread: false,
          before,
          limit: itemsPerPage + 1,
        }),
      })
      if (!frame.viewer) throw signInRequired()
      const { page: items, next } = splitPage(answers.items, itemsPerPage, '/inbox', (item) => [
        item.createdAt,
        item.id,
      ])
      return sendPage(c, <InboxPage frame={frame} items={items} next={next} />)
    }),
  )
  app.post(
    '/inbox/read',
    page(async (c) => {
      const viewer = await requireViewer(c, 'write', { isWriting: false })
      const { db, clock } = c.var.context
      await run(db, markAllItemsRead(viewer.id, clock.now()))
      return c.redirect('/inbox', 303)
    }),
  )
}

const signInRequired = (): AppError => new AppError('UNAUTHORIZED', 'Sign in to see your inbox.')
