import type { Hono } from 'hono'
import { listModerated } from '../../hub/contract/policy-line'
import { checkPolicy, findTarget, setPolicy } from '../../hub/grants/actions'
import { grantErrors } from '../../hub/grants/errors'
import { type Policy, policyBody, toPolicy } from '../../hub/grants/policy-body'
import {
  type AccountPolicyRow,
  policiesPerPage,
  readDefaultPolicy,
  selectPolicies,
  selectPolicyPage,
  selectVisiblePolicies,
  toEffectivePolicy,
} from '../../hub/grants/policy-queries'
import { findNotGranted, previewPolicy } from '../../hub/grants/preview'
import {
  type HubEnv,
  readCredential,
  requireAdminViewer,
  toAppError,
} from '../../hub/http/page-entry'
import { selectModeratorsOf } from '../../hub/moderators/queries'
import { endRule } from '../../hub/standing-rules/actions'
import { selectRules } from '../../hub/standing-rules/queries'
import { readRuleStates } from '../../hub/standing-rules/read-rules'
import type { ErrorDetail } from '../../shared/errors'
import type { FormProblem } from '../form/form-state'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import type { Frame } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { listHolders } from './line-holders'
import { PolicyEditPage } from './policy-edit-page'
import { type PolicyFormState, policyForm, toPolicyValues } from './policy-form-values'
import { PolicyPage } from './policy-page'
import { ToolsPage } from './tools-page'

/** Registers `GET /policy`, `/policy/:name` with its form (`*` is the default), and `/tools`; revokes standing rules. */
export function registerPolicyPages(app: Hono<HubEnv>): void {
  app.get('/tools', page(showTools))
  app.get('/policy', page(showPolicies))
  app.get(
    '/policy/:name',
    page((c) => showPolicy(c, null)),
  )
  app.post('/policy/:name', page(changePolicy))
  app.post(
    '/standing-rules/:id/revoke',
    page(async (c) => {
      const viewer = await requireAdminViewer(c)
      await endRule(c.var.context, { accountId: viewer.id }, c.req.param('id') ?? '')
      return c.redirect('/policy#rules', 303)
    }),
  )
}

async function showTools(c: PageContext): Promise<Response> {
  const { clock, tools } = c.var.context
  const credential = await readCredential(c)
  if (!credential) throw grantErrors.signIn()
  const policies = selectVisiblePolicies({ credential, now: clock.now() })
  const { frame, answers } = await readPage(c, { policies })
  const { viewer } = frame
  if (!viewer) throw grantErrors.signIn()
  const rows = answers.policies
  if (rows[0]) await tools.refresh(toEffectivePolicy(rows[0]))
  const evaluated = rows.map((row) => ({
    row,
    verdicts: new Map(
      tools.evaluatePolicy(toEffectivePolicy(row)).map((verdict) => [verdict.tool.name, verdict]),
    ),
  }))
  const findVerdicts = (id: string) =>
    evaluated.find(({ row }) => row.id === id)?.verdicts ?? new Map()
  const users = evaluated.flatMap(({ row, verdicts }) =>
    row.id === '*' || (row.requested === null && row.own === null)
      ? []
      : [{ name: row.name, kind: row.kind, verdicts }],
  )
  return sendPage(
    c,
    <ToolsPage
      frame={frame}
      servers={tools.servers}
      ownVerdicts={findVerdicts(viewer.id)}
      users={viewer.isAdmin ? users : null}
      defaultVerdicts={findVerdicts('*')}
    />,
  )
}

async function showPolicies(c: PageContext): Promise<Response> {
  const caller = { credential: await readCredential(c), now: c.var.context.clock.now() }
  const { frame, answers } = await readPage(c, {
    policies: selectPolicyPage(c.req.query('after') ?? ''),
    rules: selectRules(caller),
  })
  requireAdminOf(frame)
  const { tools } = c.var.context
  const [first, ...found] = answers.policies
  if (first) await tools.refresh(toEffectivePolicy(first))
  const shown = found.slice(0, policiesPerPage)
  const last = found.length > shown.length ? shown.at(-1) : undefined
  return sendPage(
    c,
    <PolicyPage
      frame={frame}
      default={first}
      accounts={shown}
      next={last ? `/policy?${new URLSearchParams({ after: last.name })}` : null}
      tools={tools}
      rules={await readRuleStates(c.var.context, answers.rules)}
    />,
  )
}

/**
 * Reads the policies that a change of one can concern.
 *
 * @param lines of an unsaved policy: the communities whose moderators they name are read, too
 */
async function readPolicies(c: PageContext, name: string, lines: string[]) {
  const communities = [...new Set(lines.flatMap(listModerated))]
  const { frame, answers } = await readPage(c, {
    policies: selectPolicies(name),
    moderators: communities.length > 0 ? selectModeratorsOf(communities) : null,
  })
  requireAdminOf(frame)
  return { frame, rows: answers.policies, moderators: answers.moderators ?? [] }
}

function requireAdminOf({ viewer }: Frame): void {
  if (!viewer) throw grantErrors.signIn()
  if (!viewer.isAdmin) throw grantErrors.adminOnly()
}

/** A submitted policy form. */
interface Submission {
  /** Null when the form has no fields, because it deletes the policy. */
  form: PolicyFormState | null
  /** The parsed policy; null when invalid. */
  policy: Policy | null
  /** Why a valid policy was not saved. */
  conflict?: FormProblem
}

async function showPolicy(
  c: PageContext,
  submitted: Submission | null,
  status = 200,
): Promise<Response> {
  const { tools } = c.var.context
  const name = c.req.param('name') ?? ''
  const lines = submitted?.policy?.allowed ?? []
  const { frame, rows, moderators } = await readPolicies(c, name, lines)
  const row = findTarget(rows, name)
  await tools.refresh(toEffectivePolicy(row))
  const { own } = row
  const initial = own ?? { ...emptyPolicy, allowed: readDefaultPolicy(row).allowed }
  const checked = checkSubmission(c, row, submitted)
  const form = checked?.form ?? createForm(toPolicyValues(initial))
  return sendPage(
    c,
    <PolicyEditPage
      frame={frame}
      row={row}
      notGranted={findNotGranted(toEffectivePolicy(row), tools)}
      form={submitted?.conflict ? { ...form, problem: submitted.conflict } : form}
      preview={
        checked?.policy
          ? {
              changes: previewPolicy(rows, row.id, checked.policy, tools),
              warnings: checked.warnings,
              holders: listHolders(checked.policy.allowed, moderators),
            }
          : null
      }
      withoutOwn={own && row.id !== '*' ? previewPolicy(rows, row.id, null, tools) : null}
    />,
    checked?.policy === null && submitted?.policy ? 400 : status,
  )
}

/** Returns what was submitted with its warnings; without the policy when new entries of it are not valid. */
function checkSubmission(
  c: PageContext,
  row: AccountPolicyRow,
  submitted: Submission | null,
): (Submission & { warnings: ErrorDetail[] }) | null {
  if (!submitted) return null
  const { form, policy } = submitted
  if (!form || !policy) return { ...submitted, warnings: [] }
  try {
    return { ...submitted, warnings: checkPolicy(policy, row, c.var.context) }
  } catch (error) {
    return { form: rejectForm(policyForm, form, error).form, policy: null, warnings: [] }
  }
}

const emptyPolicy: Policy = { allowed: [], denied: [], requireApproval: [], rateLimits: [] }

async function changePolicy(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const read = await readForm(c)
  const name = c.req.param('name') ?? ''
  const action = read('do')
  const submitted: Submission =
    action === 'remove' ? { form: null, policy: null } : parseSubmission(read)
  if (submitted.form?.problem) return showPolicy(c, submitted, 400)
  if (action !== 'save' && action !== 'remove') return showPolicy(c, submitted)
  const seenAt = Number(read('seen_at')) || 0
  const { policy } = submitted
  try {
    await setPolicy(c.var.context, { name, policy, by: viewer, isDryRun: false, seenAt })
  } catch (error) {
    return showRejected(c, submitted, error)
  }
  return c.redirect(`/policy#${name === '*' ? 'default' : encodeURIComponent(name)}`, 303)
}

/** Shows the form of a policy that was not saved. */
function showRejected(c: PageContext, submitted: Submission, error: unknown): Promise<Response> {
  const { code, message, hint } = toAppError(error)
  if (code === 'CONFLICT') return showPolicy(c, { ...submitted, conflict: { message, hint } }, 409)
  if (code !== 'VALIDATION' || !submitted.form) throw error
  const { form } = rejectForm(policyForm, submitted.form, error)
  return showPolicy(c, { form, policy: null }, 400)
}

function parseSubmission(read: (name: string) => string): Submission {
  const parsed = readFormWith(policyBody, read, policyForm)
  const { form } = parsed
  return { form, policy: parsed.isValid ? toPolicy(parsed.value) : null }
}
