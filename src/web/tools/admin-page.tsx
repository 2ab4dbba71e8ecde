import type { Child } from 'hono/jsx'
import type { Sender } from '../../hub/contract/hub'
import { requireAdminSender } from '../../hub/http/page-entry'
import type { Statements } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import type { FormProblem } from '../form/form-state'
import { toProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { type AdminTab, AdminTabs, Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, type PageRead, pageErrors, readPage, sendPage } from '../frame/send-page'

/** Reads a page that only admins can see. @throws UNAUTHORIZED, FORBIDDEN */
export async function readAdminPage<Batch extends Statements>(
  c: PageContext,
  statements: Batch,
): Promise<PageRead<Batch>> {
  const read = await readPage(c, statements)
  if (!read.frame.viewer) throw pageErrors.signInRequired()
  if (!read.frame.viewer.isAdmin) throw pageErrors.adminRequired()
  return read
}

interface AdminPage {
  frame: Frame
  title: string
  /** The selected tab. */
  tab: AdminTab
  body: Child
  status: number
}

/** Sends a page below the tabs of administration. */
export const sendAdminPage = (c: PageContext, { frame, title, tab, body, status }: AdminPage) =>
  sendPage(
    c,
    <Layout frame={frame} title={title} place={tab} sheet="admin">
      <AdminTabs here={tab} isAdmin />
      {body}
    </Layout>,
    status,
  )

/** A rejected form: the error to show above it, and its status. */
export interface Rejection {
  problem: FormProblem
  status: number
  error: AppError
}

type AdminForm = {
  /** Shows the page again with an error and the submitted fields. */
  showAgain: (rejection: Rejection, field: (name: string) => string) => Promise<Response>
  /** Labels of the fields, by which an error names them. */
  labels?: Readonly<Record<string, string>>
} & (
  | {
      /** Performs what the form asks for and returns the path to redirect to. */
      submit: (field: (name: string) => string, admin: Sender) => Promise<string>
    }
  | {
      /** Performs what the form asks for and shows the result. */
      respond: (field: (name: string) => string, admin: Sender) => Promise<Response>
    }
)

/** Handles a form that only admins can send, from a page of this hub. @throws UNAUTHORIZED, FORBIDDEN */
export async function handleAdminForm(c: PageContext, form: AdminForm): Promise<Response> {
  const admin = await requireAdminSender(c)
  const field = await readForm(c)
  try {
    if ('respond' in form) return await form.respond(field, admin)
    return c.redirect(await form.submit(field, admin), 303)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { status, ...problem } = toProblem(error, form.labels)
    return form.showAgain({ problem, status, error }, field)
  }
}
