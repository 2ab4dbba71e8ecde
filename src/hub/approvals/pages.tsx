import type { Hono } from 'hono'
import { approvals as limits } from '../../config'
import { readCredential, requireAdmin, requireViewer, toActor } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { type PageContext, page, readPage, rowsOf, sendPage } from '../web/answer-page'
import type { FormProblem } from '../web/frame'
import { toProblem } from '../web/problem'
import { readForm } from '../web/read-form'
import { decide } from './actions'
import { ApprovalsPage } from './approvals-page'
import { approvalErrors } from './errors'
import { hideCall } from './hide-call'
import { type ApprovalRow, selectApprovals } from './queries'
import { decisionBody } from './routes'

const decidedShown = 15

/** Registers `GET /approvals`, and `POST /approvals/:id` of its forms. */
export function registerApprovalPages(app: Hono<HubEnv>): void {
  app.get(
    '/approvals',
    page((c) => showApprovals(c, null)),
  )
  app.post('/approvals/:id', page(decideByForm))
}

async function decideByForm(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const form = await readForm(c)
  const parsed = decisionBody.safeParse({ decision: form('decision'), note: form('note') })
  if (!parsed.success) {
    throw approvalErrors.invalidDecision()
  }
  try {
    await decide(c.var.context, toActor(viewer, null), c.req.param('id') ?? '', parsed.data)
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 409) throw error
    return showApprovals(c, problem, status)
  }
  return c.redirect('/approvals', 303)
}

async function showApprovals(
  c: PageContext,
  problem: FormProblem | null,
  status = 200,
): Promise<Response> {
  const { db, clock } = c.var.context
  const credential = await readCredential(c)
  if (!credential) throw approvalErrors.signInRequired()
  const reader = { credential, now: clock.now() }
  const read = await readPage(c, [
    selectApprovals(db, reader, { status: 'pending', before: null, limit: limits.pageMax }),
    selectApprovals(db, reader, { status: null, before: null, limit: limits.pageMax }),
  ])
  if (!read.frame.viewer) throw approvalErrors.signInRequired()
  const { viewer } = read.frame
  const toVisible = (index: number) =>
    rowsOf<ApprovalRow>(read, index).map((row) => hideCall(row, viewer))
  const decided = toVisible(1).filter((row) => row.status !== 'pending')
  return sendPage(
    c,
    <ApprovalsPage
      frame={read.frame}
      pending={toVisible(0)}
      decided={decided.slice(0, decidedShown)}
      problem={problem}
    />,
    status,
  )
}
