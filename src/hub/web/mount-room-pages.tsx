import type { Hono } from 'hono'
import type { PageAsk, PageParts, PageView, Person, RoomPage } from '../contract'
import { requireAdmin, requireViewer } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { AdminTabs } from './admin-tabs'
import { Ago } from './ago'
import { type PageContext, page, readPage, sendPage } from './answer-page'
import { pageErrors } from './errors'
import { Layout } from './layout'
import { Problem, toProblem } from './problem'
import { Who } from './who'

/** Components of the hub that pages of other modules use. */
export const pageParts: PageParts = { Ago, Who, Problem, toProblem }

/** Registers pages of other modules on the app, in the layout of all pages. */
export function mountRoomPages(app: Hono<HubEnv>, pages: readonly RoomPage[]): void {
  for (const modulePage of pages) {
    app.on(
      modulePage.method.toUpperCase(),
      modulePage.path,
      page(async (c) => {
        const sender = modulePage.method === 'post' ? await findSender(c, modulePage) : null
        return modulePage.answer(createRequest(c, modulePage, sender))
      }),
    )
  }
}

/** Returns the account that sends a form. @throws UNAUTHORIZED, FORBIDDEN before the module is called */
async function findSender(c: PageContext, { access }: RoomPage): Promise<Person> {
  const viewer = await requireViewer(c, 'write')
  if (access === 'admin') requireAdmin(viewer)
  const { id, name, kind } = viewer
  return { id, name, kind }
}

const createRequest = (c: PageContext, modulePage: RoomPage, sender: Person | null): PageAsk => ({
  request: c.req.raw,
  param: (name) => c.req.param(name) ?? '',
  sender() {
    if (!sender) throw new Error(`${modulePage.path} is not declared as a form`)
    return sender
  },
  read: (statements) => readModulePage(c, modulePage, statements),
  goTo: (path) => c.redirect(path, 303),
})

async function readModulePage(
  c: PageContext,
  { access }: RoomPage,
  statements: D1PreparedStatement[],
): Promise<PageView> {
  const { frame, results } = await readPage(c, statements)
  const { viewer, now } = frame
  if (!viewer) throw pageErrors.signInRequired()
  if (access === 'admin' && !viewer.isAdmin) throw pageErrors.adminRequired()
  return {
    viewer,
    now,
    results,
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
