import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { endRule, readRuleStates } from '../../hub/approvals/actions'
import { selectRules } from '../../hub/approvals/queries'
import { selectModeratorsOf } from '../../hub/communities/queries'
import type { CatalogServer, CatalogTool, ToolAccess } from '../../hub/contract/hub'
import { listModerated } from '../../hub/contract/policy-line'
import { checkPolicy, findTarget, grantErrors, setPolicy } from '../../hub/grants/actions'
import {
  formatTier,
  type Policy,
  policyBody,
  policyLabels,
  policyNotes,
  toPolicy,
} from '../../hub/grants/policy'
import { findNotGranted, type PolicyChange, previewPolicy } from '../../hub/grants/preview'
import {
  type AccountPolicyRow,
  policiesPerPage,
  readDefaultPolicy,
  selectPolicies,
  selectPolicyPage,
  selectVisiblePolicies,
  toEffectivePolicy,
} from '../../hub/grants/queries'
import {
  type HubEnv,
  readCredential,
  requireAdminViewer,
  toAppError,
} from '../../hub/http/page-entry'
import { limits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import { formatPlural } from '../../shared/format'
import { ErrorSummary, Field, Submit } from '../form/fields'
import { createForm, type FormProblem, readFormWith, rejectForm } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink, type AccountRef, TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import {
  formatPolicyError,
  type LineHolders,
  LineHoldersList,
  listHolders,
  type PolicyFormState,
  PolicyPage,
  policyFields,
  policyForm,
  policyPath,
  Rules,
  toPolicyValues,
} from './policy-page'

/** Registers `GET /policy`, `/policy/:name` with its form (`*` is the default), and `/tools`; revokes standing rules. */
export function registerPolicyPages(app: Hono<HubEnv>): void {
  app.get('/tools', page(showTools))
  app.get('/policy', page(showPolicies))
  app.get('/policy/:name', page(showPolicy))
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
      query={(c.req.query('q') ?? '').trim().slice(0, limits.search.queryCharsMax)}
      ownVerdicts={findVerdicts(viewer.id)}
      users={viewer.isAdmin ? users : null}
      defaultVerdicts={findVerdicts('*')}
    />,
  )
}

async function showPolicies(c: PageContext): Promise<Response> {
  const caller = { credential: await readCredential(c), now: c.var.context.clock.now() }
  const { frame, answers } = await readPage(c, {
    policies: selectPolicyPage({ after: c.req.query('after') ?? '' }),
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
    policies: selectPolicies({ name }),
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
  submitted: Submission | null = null,
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

interface PolicyPreview {
  changes: PolicyChange[]
  warnings: ErrorDetail[]
  holders: LineHolders[]
}

interface PolicyEditPageProps {
  frame: Frame
  row: AccountPolicyRow
  /** Grants that the definition requests and the policy doesn't grant. */
  notGranted: string[]
  form: PolicyFormState
  /** Changes that the submitted policy would make; null before a preview. */
  preview: PolicyPreview | null
  /** Changes if the account's own policy were deleted; null without one. */
  withoutOwn: PolicyChange[] | null
}

/** Shows the form of a policy, with a preview of its changes before saving. */
const PolicyEditPage: FC<PolicyEditPageProps> = (props) => {
  const { frame, row, notGranted: dropped, form, withoutOwn } = props
  const title = row.id === '*' ? 'Default policy' : `Policy of ${row.name}`
  return (
    <Layout frame={frame} title={title} place="policy" sheet="admin">
      <AdminTabs here="policy" isAdmin />
      <h1>{title}</h1>
      {row.id !== '*' && (
        <div class="by up2">
          <AccountLink name={row.name} kind={row.kind} />
        </div>
      )}
      <p class="lede">{formatScope(row)}</p>
      {dropped.length > 0 && (
        <p class="up3">
          <span class="warn">Requested but not granted:</span> <Rules rules={dropped} none="" />
        </p>
      )}
      <div class="up4">
        <ErrorSummary problem={form.problem} />
      </div>
      <PolicyForm {...props} />
      {withoutOwn && <DeleteOwnPolicy row={row} changes={withoutOwn} />}
    </Layout>
  )
}

function formatScope(row: AccountPolicyRow): string {
  if (row.id === '*') {
    return 'Applies to all accounts without their own rules. Its denials, approval rules and rate limits apply to all accounts.'
  }
  return row.own
    ? 'The allowed grants replace those of the default policy. The other rules are added to the default rules.'
    : 'The default policy applies. Allowed grants that you save here replace those of the default. Other rules are added to it.'
}

const PolicyForm: FC<PolicyEditPageProps> = ({ row, form, preview }) => {
  const defaults = row.id === '*' ? null : toPolicyValues(readDefaultPolicy(row))
  return (
    <form class="form wide up4" method="post" action={policyPath(row.name)}>
      <input type="hidden" name="seen_at" value={String(row.updatedAt ?? 0)} />
      <fieldset class="two">
        {policyFields.map((field) => (
          <Field
            form={form}
            as="textarea"
            name={field}
            label={policyLabels[field]}
            rows={4}
            spellcheck={false}
            autocomplete="off"
            hint={
              <>
                {policyNotes[field]}
                {defaults?.[field] && (
                  <>
                    {' '}
                    Default{field === 'allowed' && ', replaced by this field'}:{' '}
                    <code>{defaults[field].split('\n').join(', ')}</code>
                  </>
                )}
              </>
            }
          />
        ))}
      </fieldset>
      {preview && <Preview {...preview} />}
      <div class="acts">
        {preview && !form.problem && (
          <Submit isMain name="do" value="save">
            Save
          </Submit>
        )}
        <Submit isMain={!preview} name="do" value="preview">
          Preview changes
        </Submit>
        <TextLink href="/policy">Cancel</TextLink>
      </div>
    </form>
  )
}

const Preview: FC<PolicyPreview> = (props) => (
  <section class="block" id="changes" aria-label="Preview of changes">
    <h2>Changes after saving</h2>
    <ChangeList changes={props.changes} />
    {props.warnings.length > 0 && (
      <ul class="up3">
        {props.warnings.map((warning) => (
          <li class="warn">{formatPolicyError(warning)}</li>
        ))}
      </ul>
    )}
    <h3 class="up4">For whom each line holds now</h3>
    <LineHoldersList of={props.holders} />
  </section>
)

const DeleteOwnPolicy: FC<{ row: AccountPolicyRow; changes: PolicyChange[] }> = (props) => (
  <details class="danger up6">
    <summary>Delete this account’s own rules</summary>
    <form class="up3" method="post" action={policyPath(props.row.name)}>
      <input type="hidden" name="seen_at" value={String(props.row.updatedAt ?? 0)} />
      <p>The default policy then applies.</p>
      <ChangeList changes={props.changes} />
      <p class="up3">
        <Submit name="do" value="remove">
          Delete rules
        </Submit>
      </p>
    </form>
  </details>
)

/** Lists the changes that an unsaved policy would make, by account. */
const ChangeList: FC<{ changes: PolicyChange[] }> = ({ changes }) =>
  changes.length === 0 ? (
    <p class="up3">No account gains or loses a tool.</p>
  ) : (
    <table class="tbl fold">
      <TableHead columns={['Account', 'Changes']} />
      <tbody>
        {changes.map((change) => (
          <tr>
            <th scope="row">
              {change.account ? (
                <AccountLink name={change.account.name} kind={change.account.kind} />
              ) : (
                'all other accounts'
              )}
              {change.requestedBy === 'guest' && <div class="meta">when a guest requests it</div>}
              {change.requestedBy === 'moderator' && (
                <div class="meta">when a moderator of m/{change.community} requests it</div>
              )}
            </th>
            <td class="whole">
              <Changes change={change} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )

const Changes: FC<{ change: PolicyChange }> = ({ change }) => (
  <ul>
    {change.gains.map((tool) => (
      <li class="gain">
        can use <code>{tool}</code>
      </li>
    ))}
    {change.loses.map((tool) => (
      <li class="loss">
        can no longer use <code>{tool}</code>
      </li>
    ))}
    {change.moreApproval.map((tool) => (
      <li>
        <code>{tool}</code> requires approval for some or all calls
      </li>
    ))}
    {change.lessApproval.map((tool) => (
      <li>
        <code>{tool}</code> requires approval for fewer calls, or none
      </li>
    ))}
  </ul>
)

/** An account with its verdict on each tool. */
interface ToolUser extends AccountRef {
  /** By tool name. */
  verdicts: ReadonlyMap<string, ToolAccess>
}

interface ToolsPageProps {
  frame: Frame
  servers: readonly CatalogServer[]
  /** Words that the tools have to contain; '' for all. */
  query: string
  /** Verdicts of the viewer, by tool name. */
  ownVerdicts: ReadonlyMap<string, ToolAccess>
  /** Agents and accounts with their own rules; null when the viewer can't see them. */
  users: ToolUser[] | null
  /** Verdicts of accounts without their own rules, by tool name. */
  defaultVerdicts: ReadonlyMap<string, ToolAccess>
}

/** Lists the tools by server, a line each, which opens: what it does, and the accounts that can use it. */
const ToolsPage: FC<ToolsPageProps> = (props) => {
  const { frame, query } = props
  const isAdmin = frame.viewer?.isAdmin === true
  const servers = filterTools(props.servers, query)
  const count = servers.reduce((sum, { tools }) => sum + tools.length, 0)
  return (
    <Layout frame={frame} title="Tools" place="tools" sheet="admin">
      <AdminTabs here="tools" isAdmin={isAdmin} />
      <h1>Tools</h1>
      <p class="lede">
        Tools for agents, and for you through MCP at <code>/mcp</code>. A tool runs when the{' '}
        {isAdmin ? <TextLink href="/policy">policy</TextLink> : 'policy'} allows its grant.{' '}
        {isAdmin && <TextLink href="/tools/remote">Add a remote MCP server</TextLink>}
      </p>
      <search aria-label="Tools">
        <form class="find big up4" action="/tools">
          <label class="vh" for="tool">
            Name, grant or words of the description
          </label>
          <input
            id="tool"
            type="search"
            name="q"
            value={query}
            placeholder="Name, grant or description"
          />
          <Submit>Filter</Submit>
        </form>
      </search>
      {query === '' ? (
        <nav class="acts meta up3" aria-label="Servers">
          {servers.map(({ name, tools }) => (
            <a href={`#${name}`}>
              {name} {tools.length}
            </a>
          ))}
        </nav>
      ) : (
        <p class="meta up3" role="status">
          {formatPlural(count, 'tool', 'tools')}. <TextLink href="/tools">Show all tools</TextLink>
        </p>
      )}
      {servers.map((server) => (
        <section class="block" id={server.name}>
          <h2>
            {server.name} <span class="meta">{server.description}</span>
          </h2>
          {server.tools.map((tool) => (
            <ToolItem {...props} tool={tool} isOpen={count === 1} />
          ))}
        </section>
      ))}
    </Layout>
  )
}

/** Returns the tools that have all words of a query in their name, grant, tier or description, by server. */
function filterTools(servers: readonly CatalogServer[], query: string): CatalogServer[] {
  const words = query.toLowerCase().split(/\s+/)
  return servers.flatMap((server) => {
    const tools = server.tools.filter(({ name, grant, tier, description }) => {
      const text = `${name} ${grant} ${tier} ${description}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    return tools.length === 0 ? [] : [{ ...server, tools }]
  })
}

const ToolItem: FC<ToolsPageProps & { tool: CatalogTool; isOpen: boolean }> = (props) => {
  const { tool, ownVerdicts: own, frame, users } = props
  const verdict = own.get(tool.name)
  return (
    <details class="provider" open={props.isOpen} data-row>
      <summary>
        <b>{tool.name}</b>
        <span class="meta">
          <code>{tool.grant}</code> {formatTier(tool.tier)}
          {verdict && (verdict.isAllowed ? ', allowed' : ', not allowed')}
        </span>
      </summary>
      <div id={tool.name}>
        <p>{tool.description}</p>
        <p class="up2">
          You:{' '}
          <Verdict verdict={verdict} name={frame.viewer?.name ?? ''} isAdmin={users !== null} />
        </p>
        {users && (
          <div class="row up2">
            <span class="nb">Allowed for:</span>
            <Users {...props} users={users} tool={tool.name} />
          </div>
        )}
      </div>
    </details>
  )
}

interface VerdictProps {
  verdict: ToolAccess | undefined
  name: string
  isAdmin: boolean
}

/** Shows whether the viewer can use a tool, and if not the reason and its place in the policy. */
const Verdict: FC<VerdictProps> = ({ verdict, name, isAdmin }) => {
  if (!verdict) return null
  const { isAllowed, reason, list, grants, approval, tool } = verdict
  if (!isAllowed) {
    return (
      <>
        <b>Not allowed</b>: {reason}.{' '}
        {list && isAdmin && <TextLink href={`${policyPath(name)}#${list}`}>Edit policy</TextLink>}
        {list && !isAdmin && <span class="meta">Ask an admin to allow the tool.</span>}
      </>
    )
  }
  const isWhole = grants.includes(tool.grant)
  return (
    <>
      Allowed
      {!isWhole && (
        <>
          {' '}
          with <code>{grants.join(', ')}</code>
        </>
      )}
      {approval !== 'never' && (
        <span class="meta">
          {approval === 'always' ? ', requires approval' : ', some calls require approval'}
        </span>
      )}
    </>
  )
}

const usersShown = 8

const Users: FC<ToolsPageProps & { users: ToolUser[]; tool: string }> = (props) => {
  const { users, defaultVerdicts: others, tool } = props
  const allowed = users.filter(({ verdicts }) => verdicts.get(tool)?.isAllowed)
  const rest = allowed.length - usersShown
  const isOpen = others.get(tool)?.isAllowed === true
  return (
    <span class="rules">
      {allowed.slice(0, usersShown).map((user) => (
        <AccountLink name={user.name} kind={user.kind} />
      ))}
      {rest > 0 && <a href="/policy">and {rest} more</a>}
      {isOpen && <span class="meta">all accounts without their own rules</span>}
      {allowed.length === 0 && !isOpen && <span class="meta">no account</span>}
    </span>
  )
}
