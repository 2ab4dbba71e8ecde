import type { Hono } from 'hono'
import { AppError } from '../../errors'
import { readCredential, requireAdmin, requireViewer } from '../http/authenticate'
import { listDetails, toAppError } from '../http/errors'
import type { HubEnv } from '../http/hub-env'
import {
  type PageContext,
  type PageRead,
  page,
  readPage,
  rowsOf,
  sendPage,
} from '../web/answer-page'
import type { FormProblem } from '../web/frame'
import { readForm } from '../web/read-form'
import { checkPolicy, findTarget, setPolicy } from './actions'
import { type Policy, policyBody, toPolicy } from './policy-body'
import { PolicyEditPage } from './policy-edit-page'
import { PolicyPage } from './policy-page'
import {
  type AccountPolicyRow,
  policyOf,
  readDefault,
  readOwn,
  selectPolicies,
  selectVisiblePolicies,
} from './policy-queries'
import {
  type PolicyText,
  policyFields,
  readPolicyText,
  sayPlace,
  writePolicyText,
} from './policy-text'
import { findDropped, previewPolicy } from './preview'
import { ToolsPage } from './tools-page'

/** `GET /policy`, `/policy/:name` with its form (`*` is the default), and `/tools`. */
export function registerPolicyPages(app: Hono<HubEnv>): void {
  app.get('/tools', page(showTools))
  app.get('/policy', page(showPolicies))
  app.get(
    '/policy/:name',
    page((c) => showPolicy(c, null)),
  )
  app.post('/policy/:name', page(changePolicy))
}

async function showTools(c: PageContext): Promise<Response> {
  const { db, clock, tools } = c.var.context
  const credential = await readCredential(c)
  if (!credential) throw signInFirst()
  const read = await readPage(c, [selectVisiblePolicies(db, { credential, now: clock.now() })])
  const { viewer } = read.frame
  if (!viewer) throw signInFirst()
  const rows = rowsOf<AccountPolicyRow>(read, 0)
  if (rows[0]) await tools.refresh(policyOf(rows[0]))
  const judged = rows.map((row) => ({
    row,
    verdicts: new Map(tools.judge(policyOf(row)).map((each) => [each.tool.name, each])),
  }))
  const find = (id: string) => judged.find(({ row }) => row.id === id)?.verdicts ?? new Map()
  const users = judged.flatMap(({ row, verdicts }) =>
    row.id === '*' || (row.requested === null && readOwn(row) === null)
      ? []
      : [{ name: row.name, kind: row.kind, verdicts }],
  )
  return sendPage(
    c,
    <ToolsPage
      frame={read.frame}
      servers={tools.servers}
      own={find(viewer.id)}
      users={viewer.isAdmin ? users : null}
      others={find('*')}
    />,
  )
}

async function showPolicies(c: PageContext): Promise<Response> {
  const read = await readAsAdmin(c, null)
  const rows = rowsOf<AccountPolicyRow>(read, 0)
  const { tools } = c.var.context
  if (rows[0]) await tools.refresh(policyOf(rows[0]))
  return sendPage(c, <PolicyPage frame={read.frame} rows={rows} tools={tools} />)
}

const signInFirst = (): AppError => new AppError('UNAUTHORIZED', 'Sign in to see this.')

async function readAsAdmin(c: PageContext, name: string | null): Promise<PageRead> {
  const read = await readPage(c, [selectPolicies(c.var.context.db, name)])
  const { viewer } = read.frame
  if (!viewer) throw signInFirst()
  if (viewer.isAdmin) return read
  throw new AppError('FORBIDDEN', 'Only an admin may see the policy.', {
    hint: 'What you may use is at /tools.',
  })
}

/** What was typed, and what came of it. */
interface Typed {
  /** Null: nothing was to be typed. */
  text: PolicyText | null
  /** Null when it is no policy. */
  policy: Policy | null
  problem: FormProblem | null
}

async function showPolicy(c: PageContext, typed: Typed | null, status = 200): Promise<Response> {
  const { tools } = c.var.context
  const name = c.req.param('name') ?? ''
  const read = await readAsAdmin(c, name)
  const rows = rowsOf<AccountPolicyRow>(read, 0)
  const row = findTarget(rows, name)
  await tools.refresh(policyOf(row))
  const own = readOwn(row)
  const start = own ?? { ...emptyPolicy, allowed: readDefault(row).allowed }
  return sendPage(
    c,
    <PolicyEditPage
      frame={read.frame}
      row={row}
      dropped={findDropped(policyOf(row), tools)}
      typed={typed?.text ?? writePolicyText(start)}
      preview={
        typed?.policy
          ? {
              changes: previewPolicy(rows, row.id, typed.policy, tools),
              warnings: checkPolicy(typed.policy, c.var.context),
            }
          : null
      }
      withoutOwn={own && row.id !== '*' ? previewPolicy(rows, row.id, null, tools) : null}
      problem={typed?.problem ?? null}
    />,
    status,
  )
}

const emptyPolicy: Policy = { allowed: [], denied: [], requireApproval: [], rateLimits: [] }

async function changePolicy(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const form = await readForm(c)
  const name = c.req.param('name') ?? ''
  const what = form('do')
  const text = Object.fromEntries(policyFields.map((field) => [field, form(field)])) as unknown
  const typed = readTyped(c, text as PolicyText, what === 'remove')
  if (typed.problem) return showPolicy(c, typed, 400)
  if (what !== 'save' && what !== 'remove') return showPolicy(c, typed)
  const seenAt = Number(form('seen_at')) || 0
  const policy = what === 'remove' ? null : typed.policy
  try {
    await setPolicy(c.var.context, { name, policy, by: viewer.id, isDryRun: false, seenAt })
  } catch (error) {
    const { code, message, hint } = toAppError(error)
    if (code !== 'CONFLICT') throw error
    return showPolicy(c, { ...typed, problem: { message, hint } }, 409)
  }
  return c.redirect(`/policy#${name === '*' ? 'default' : encodeURIComponent(name)}`, 303)
}

function readTyped(c: PageContext, text: PolicyText, isRemoval: boolean): Typed {
  if (isRemoval) return { text: null, policy: null, problem: null }
  const { body, problems } = readPolicyText(text)
  const parsed = policyBody.safeParse(body)
  const details = [
    ...problems,
    ...(parsed.success || problems.length > 0 ? [] : listDetails(parsed.error, 'body')),
  ]
  if (parsed.success && details.length === 0) {
    const policy = toPolicy(parsed.data)
    try {
      checkPolicy(policy, c.var.context)
      return { text, policy, problem: null }
    } catch (error) {
      details.push(...(toAppError(error).details ?? []))
    }
  }
  const hint = details.map(sayPlace).join('; ')
  return { text, policy: null, problem: { message: 'That is no policy yet.', hint } }
}
