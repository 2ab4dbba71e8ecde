import type { Hono } from 'hono'
import { AppError } from '../../errors'
import type { PageAsk, PageParts, PageView, Person, RoomPage } from '../contract'
import { requireAdmin, requireViewer } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { AdminTabs } from './admin-tabs'
import { Ago } from './ago'
import { type PageContext, page, readPage, sendPage } from './answer-page'
import { Layout } from './layout'
import { Problem, toProblem } from './problem'
import { Who } from './who'

export const pageParts: PageParts = { Ago, Who, Problem, toProblem }

/** Puts pages of other rooms on the app, in the frame that all pages have. */
export function mountRoomPages(app: Hono<HubEnv>, pages: readonly RoomPage[]): void {
  for (const roomPage of pages) {
    app.on(
      roomPage.method.toUpperCase(),
      roomPage.path,
      page(async (c) => {
        const sender = roomPage.method === 'post' ? await findSender(c, roomPage) : null
        return roomPage.answer(createAsk(c, roomPage, sender))
      }),
    )
  }
}

/** Checked before the room hears of it, where the form came from too. */
async function findSender(c: PageContext, { access }: RoomPage): Promise<Person> {
  const viewer = await requireViewer(c, 'write')
  if (access === 'admin') requireAdmin(viewer)
  const { id, name, kind } = viewer
  return { id, name, kind }
}

const createAsk = (c: PageContext, roomPage: RoomPage, sender: Person | null): PageAsk => ({
  request: c.req.raw,
  param: (name) => c.req.param(name) ?? '',
  sender() {
    if (!sender) throw new Error(`${roomPage.path} is not declared as a form`)
    return sender
  },
  read: (statements) => readRoomPage(c, roomPage, statements),
  goTo: (path) => c.redirect(path, 303),
})

async function readRoomPage(
  c: PageContext,
  { access }: RoomPage,
  statements: D1PreparedStatement[],
): Promise<PageView> {
  const { frame, results } = await readPage(c, statements)
  const { viewer, now } = frame
  if (!viewer) throw new AppError('UNAUTHORIZED', 'Sign in to see this.')
  if (access === 'admin' && !viewer.isAdmin) {
    throw new AppError('FORBIDDEN', 'Only an admin may see this.', {
      hint: 'Sign in with the key of an admin account.',
    })
  }
  return {
    ...{ viewer, now, results },
    show: async ({ title, tab, body, status }) =>
      sendPage(
        c,
        <Layout frame={frame} title={title} place="admin" sheet="admin">
          <AdminTabs here={tab} isAdmin={viewer.isAdmin} />
          {body}
        </Layout>,
        status,
      ),
  }
}
