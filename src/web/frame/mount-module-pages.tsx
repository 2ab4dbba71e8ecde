import type { Hono } from 'hono'
import type { ModulePage, PageParts, PageRequest, PageView, Person } from '../../hub/contract/hub'
import { requireAdmin, requireViewer } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import { pageErrors } from '../../hub/web/errors'
import type { Statements } from '../../shared/db/batch'
import { ErrorSummary } from '../form/error-summary'
import { toProblem } from '../form/to-problem'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { AdminTabs } from './admin-tabs'
import { Layout } from './layout'
import { type PageContext, page, readPage, sendPage } from './send-page'

/** Components of the hub that pages of other modules use. */
export const pageParts: PageParts = {
  Ago: RelativeTime,
  AccountLink,
  Problem: ErrorSummary,
  toProblem,
}

/** Registers pages of other modules on the app, in the layout of all pages. */
export function mountModulePages(app: Hono<HubEnv>, pages: readonly ModulePage[]): void {
  for (const modulePage of pages) {
    app.on(
      modulePage.method.toUpperCase(),
      modulePage.path,
      page(async (c) => {
        const sender = modulePage.method === 'post' ? await findSender(c, modulePage) : null
        return modulePage.handle(createRequest(c, modulePage, sender))
      }),
    )
  }
}

/** Returns the account that sends a form. @throws UNAUTHORIZED, FORBIDDEN before the module is called */
async function findSender(c: PageContext, { access }: ModulePage): Promise<Person> {
  const viewer = await requireViewer(c, 'write')
  if (access === 'admin') requireAdmin(viewer)
  const { id, name, kind } = viewer
  return { id, name, kind }
}

const createRequest = (
  c: PageContext,
  modulePage: ModulePage,
  sender: Person | null,
): PageRequest => ({
  request: c.req.raw,
  param: (name) => c.req.param(name) ?? '',
  requireSender() {
    if (!sender) throw new Error(`${modulePage.path} is not declared as a form`)
    return sender
  },
  read: (statements) => readModulePage(c, modulePage, statements),
  redirect: (path) => c.redirect(path, 303),
})

async function readModulePage<Batch extends Statements>(
  c: PageContext,
  { access }: ModulePage,
  statements: Batch,
): Promise<PageView<Batch>> {
  const { frame, answers } = await readPage(c, statements)
  const { viewer, now } = frame
  if (!viewer) throw pageErrors.signInRequired()
  if (access === 'admin' && !viewer.isAdmin) throw pageErrors.adminRequired()
  return {
    viewer,
    now,
    answers,
    render: async ({ title, tab, body, status }) =>
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
