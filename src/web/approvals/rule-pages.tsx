import { submitDecision } from '../../hub/approvals/actions'
import { approvalErrors } from '../../hub/approvals/errors'
import { type PreparedRule, previewRule } from '../../hub/approvals/prepare-rule'
import { type ApprovalRow, selectApproval } from '../../hub/approvals/queries'
import { redactApproval } from '../../hub/approvals/redact-approval'
import { readCredential, requireAdminViewer } from '../../hub/http/page-entry'
import { ruleErrors } from '../../hub/standing-rules/errors'
import type { RuleInput } from '../../hub/standing-rules/inputs'
import { type RuleScope, selectRuleScope } from '../../hub/standing-rules/queries'
import { requestReader } from '../../hub/viewers/reader'
import { createForm, type FormState } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { toProblem } from '../form/to-problem'
import type { Frame } from '../frame/frame'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, readPage, sendPage } from '../frame/send-page'
import { listVarying, narrowestRule, narrowestTyped, ruleForm, ruleFormSchema } from './rule-form'
import { RulePage } from './rule-page'

/** Everything that the page of a rule shows. */
interface RuleRead {
  frame: Frame
  row: ApprovalRow
  scope: RuleScope
}

/** @throws UNAUTHORIZED, FORBIDDEN, NOT_FOUND */
async function readRule(c: PageContext): Promise<RuleRead> {
  const credential = await readCredential(c)
  if (!credential) throw approvalErrors.signInRequired()
  const id = c.req.param('id') ?? ''
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    row: selectApproval(id, requestReader(credential, now)),
    scope: selectRuleScope({ approvalId: id }),
  })
  if (!frame.viewer) throw approvalErrors.signInRequired()
  if (!frame.viewer.isAdmin) throw ruleErrors.adminOnly()
  const { row, scope } = answers
  if (!row || !scope) throw approvalErrors.notFound()
  return { frame, row, scope }
}

/** Shows what the narrowest rule for a pending call would cover. */
export async function showRule(c: PageContext): Promise<Response> {
  const read = await readRule(c)
  const form = createForm(narrowestTyped(listVarying(read.row.arguments)))
  return sendRule(c, read, form, narrowestRule)
}

/** Shows what the rule of the form would cover, or approves the call and creates the rule. */
export async function createRule(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const form = await readForm(c)
  const read = await readRule(c)
  const varying = listVarying(read.row.arguments)
  const parsed = readFormWith(ruleFormSchema(varying), form, ruleForm(varying))
  if (!parsed.isValid) return sendRule(c, read, parsed.form, null, 400)
  if (form('do') !== 'create') return sendRule(c, read, parsed.form, parsed.value)
  try {
    const decision = { decision: 'approve' as const, note: '', standing_rule: parsed.value }
    await submitDecision(c.var.context, await readFormActor(c, viewer), read.row.id, decision)
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    return sendRule(c, read, { ...parsed.form, problem }, null, status)
  }
  return c.redirect('/approvals', 303)
}

async function sendRule(
  c: PageContext,
  { frame, row, scope }: RuleRead,
  form: FormState<string>,
  input: RuleInput | null,
  status = 200,
): Promise<Response> {
  const { context } = c.var
  const { rule, problem } = input
    ? await tryPreview(() => previewRule(context, row, scope, input))
    : { rule: null, problem: form.problem }
  return sendPage(
    c,
    <RulePage
      frame={frame}
      row={redactApproval(row, frame.viewer, context.settings)}
      varying={listVarying(row.arguments)}
      form={{ ...form, problem: problem ?? form.problem }}
      rule={rule}
    />,
    status,
  )
}

/** Returns the rule, or why it cannot be created. */
async function tryPreview(preview: () => Promise<PreparedRule>) {
  try {
    return { rule: await preview(), problem: null }
  } catch (error) {
    const { status: _, ...problem } = toProblem(error)
    return { rule: null, problem }
  }
}
