import type { Hono } from 'hono'
import { selectHeldForViewer } from '../../hub/agents/held-queries'
import {
  approvalErrors,
  decisionBody,
  decisionsBody,
  submitDecision,
  submitDecisions,
} from '../../hub/approvals/actions'
import { redactApproval } from '../../hub/approvals/arguments'
import { type ApprovalRow, selectApprovals, selectDeciders } from '../../hub/approvals/queries'
import { type HubEnv, readCredential, requireAdminViewer, toActor } from '../../hub/http/page-entry'
import { resumeStatements, toResumePromises } from '../../hub/runs/resume-queries'
import { approvals as limits } from '../../shared/config'
import type { FormProblem } from '../form/form-state'
import { toProblem } from '../form/form-state'
import { readForm } from '../frame/read-form'
import { toLocalPath } from '../frame/requests'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { ApprovalsPage } from './approvals-page'
import { createRule, showRule } from './rule-page'

const decidedShown = 15

/** Registers `GET /approvals` with its forms, and the form of a standing rule, `/approvals/:id/rule`. */
export function registerApprovalPages(app: Hono<HubEnv>): void {
  app.get('/approvals', page(showApprovals))
  app.post('/approvals', page(decideAll))
  app.post('/approvals/:id', page(decideOne))
  app.get('/approvals/:id/rule', page(showRule))
  app.post('/approvals/:id/rule', page(createRule))
}

async function decideOne(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const form = await readForm(c)
  const parsed = decisionBody.safeParse({ decision: form('decision'), note: form('note') })
  if (!parsed.success) throw approvalErrors.invalidDecision()
  const { data } = parsed
  return answerDecision(c, form, () =>
    submitDecision(c.var.context, toActor(viewer, null), c.req.param('id') ?? '', data),
  )
}

async function decideAll(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const form = await readForm(c)
  const parsed = decisionsBody.safeParse({
    ids: parseIds(form('ids')),
    decision: form('decision'),
    note: form('note'),
  })
  if (!parsed.success) throw approvalErrors.invalidDecision()
  const { ids, ...decision } = parsed.data
  return answerDecision(c, form, () =>
    submitDecisions(c.var.context, toActor(viewer, null), ids, decision),
  )
}

function parseIds(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Goes back to the page of the form, or shows why a call could not be decided any more. */
async function answerDecision(
  c: PageContext,
  form: (name: string) => string,
  decide: () => Promise<unknown>,
): Promise<Response> {
  try {
    await decide()
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 409) throw error
    return showApprovals(c, problem, status)
  }
  return c.redirect(toLocalPath(form('next') || '/approvals'), 303)
}

async function showApprovals(
  c: PageContext,
  problem: FormProblem | null = null,
  status = 200,
): Promise<Response> {
  const credential = await readCredential(c)
  if (!credential) throw approvalErrors.signInRequired()
  const now = c.var.context.clock.now()
  const reader = { credential, now }
  const { frame, answers } = await readPage(c, {
    pending: selectApprovals(reader, { status: 'pending', before: null, limit: limits.pageMax }),
    all: selectApprovals(reader, { status: null, before: null, limit: limits.pageMax }),
    deciders: selectDeciders({ now }),
    held: selectHeldForViewer(credential, now),
    ...resumeStatements(credential, now),
  })
  const { viewer } = frame
  if (!viewer) throw approvalErrors.signInRequired()
  const toVisible = (rows: ApprovalRow[]) =>
    rows.map((row) => redactApproval(row, viewer, c.var.context.settings))
  const decided = toVisible(answers.all).filter((row) => row.status !== 'pending')
  return sendPage(
    c,
    <ApprovalsPage
      frame={frame}
      pending={toVisible(answers.pending)}
      decided={decided.slice(0, decidedShown)}
      held={answers.held}
      deciders={answers.deciders.map(({ name }) => name)}
      problem={problem}
      promises={await toResumePromises(answers, c.var.context.tools)}
    />,
    status,
  )
}
