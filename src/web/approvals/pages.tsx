import type { Hono } from 'hono'
import { submitDecision } from '../../hub/approvals/actions'
import { approvalErrors } from '../../hub/approvals/errors'
import { decisionBody } from '../../hub/approvals/inputs'
import { type ApprovalRow, selectApprovals } from '../../hub/approvals/queries'
import { redactApproval } from '../../hub/approvals/redact-approval'
import { type HubEnv, readCredential, requireAdminViewer, toActor } from '../../hub/http/page-entry'
import { approvals as limits } from '../../shared/config'
import type { FormProblem } from '../form/form-state'
import { toProblem } from '../form/to-problem'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { ApprovalsPage } from './approvals-page'

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
  const viewer = await requireAdminViewer(c)
  const form = await readForm(c)
  const parsed = decisionBody.safeParse({ decision: form('decision'), note: form('note') })
  if (!parsed.success) {
    throw approvalErrors.invalidDecision()
  }
  try {
    await submitDecision(c.var.context, toActor(viewer, null), c.req.param('id') ?? '', parsed.data)
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
  const credential = await readCredential(c)
  if (!credential) throw approvalErrors.signInRequired()
  const reader = { credential, now: c.var.context.clock.now() }
  const { frame, answers } = await readPage(c, {
    pending: selectApprovals(reader, { status: 'pending', before: null, limit: limits.pageMax }),
    all: selectApprovals(reader, { status: null, before: null, limit: limits.pageMax }),
  })
  const { viewer } = frame
  if (!viewer) throw approvalErrors.signInRequired()
  const toVisible = (rows: ApprovalRow[]) =>
    rows.map((row) => redactApproval(row, viewer, c.var.context.settings.ROOKERY_KEY_PREFIX))
  const decided = toVisible(answers.all).filter((row) => row.status !== 'pending')
  return sendPage(
    c,
    <ApprovalsPage
      frame={frame}
      pending={toVisible(answers.pending)}
      decided={decided.slice(0, decidedShown)}
      problem={problem}
    />,
    status,
  )
}
