import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type * as z from 'zod'
import { formatArguments } from '../../hub/approvals/arguments'
import type { AuditEntry } from '../../hub/contract/hub'
import { type HubEnv, listDetails, readCredential } from '../../hub/http/page-entry'
import { selectFiles } from '../../hub/operations/archive-queries'
import {
  type ArchivedRecords,
  type ArchiveView,
  archiveName,
  readRecords,
  toArchiveView,
} from '../../hub/operations/archive-view'
import {
  type AuditList,
  type AuditRow,
  selectAudit,
  selectAuditEntry,
} from '../../hub/operations/audit-queries'
import {
  auditErrors,
  auditFilter,
  type CallContents,
  readCallContents,
} from '../../hub/operations/audit-view'
import { formatToolName } from '../../hub/rules/traces'
import { formatTask } from '../../hub/runs/run-labels'
import { audit } from '../../shared/config'
import { decodeKeyset, splitPage, toTimeKey } from '../../shared/cursor'
import { formatBytes, formatExact, formatPlural, formatSpan, toIso } from '../../shared/format'
import { activationPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import { createForm, type FormProblem, type Typed, toProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { type PageContext, page, readPage, sendCsv, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { formatCsv } from '../parts/csv'
import { AccountLink, TextLink } from '../parts/links'
import { EmptyList, Pager, TableHead } from '../parts/lists'
import { Icon } from '../parts/meter'
import { RelativeTime } from '../parts/times'

/** Registers `GET /audit`, `/audit.csv` with the same filter, and `/audit/:id`. */
export function registerAuditPages(app: Hono<HubEnv>): void {
  app.get('/audit', page(showAudit))
  app.get('/audit.csv', page(downloadAudit))
  app.get('/audit/:id', page(showEntry))
}

async function showAudit(c: PageContext): Promise<Response> {
  const { filter, ...read } = readFilter(c, filterFields, auditFilter)
  const before = decodeKeyset('/audit', c.req.query('cursor'))
  const list = { ...filter, before, limit: audit.pageDefault + 1 }
  const { frame, rows, archives, archived } = await readRows(c, list)
  const { page: shown, next } = splitPage(rows, audit.pageDefault, '/audit', toTimeKey)
  const props = { frame, rows: shown, next, archives, archived, ...read }
  return sendPage(c, <AuditPage {...props} />, read.problem ? 400 : 200)
}

async function downloadAudit(c: PageContext): Promise<Response> {
  const filter = requireFilter(c, filterFields, auditFilter)
  const { rows } = await readRows(c, { ...filter, before: null, limit: audit.csvRowsMax })
  return sendCsv(c, 'rookery-audit.csv', formatAuditCsv(rows))
}

async function showEntry(c: PageContext): Promise<Response> {
  const credential = await requireSignIn(c)
  const caller = { credential, now: c.var.context.clock.now() }
  const file = await readFile(c)
  const { frame, answers } = await readPage(c, {
    row: selectAuditEntry(caller, c.req.param('id') ?? '', file),
  })
  const { row } = answers
  if (!frame.viewer) throw auditErrors.signIn()
  if (!row) throw auditErrors.callNotFound()
  return sendPage(
    c,
    <AuditEntryPage
      frame={frame}
      row={row}
      contents={await readCallContents(c.var.context, frame.viewer, row)}
    />,
  )
}

async function readRows(c: PageContext, list: AuditList) {
  const credential = await requireSignIn(c)
  const caller = { credential, now: c.var.context.clock.now() }
  const archived = await readFile(c)
  const { frame, answers } = await readPage(c, {
    rows: selectAudit(caller, { ...list, archived }),
    files: selectFiles('audit', list),
  })
  if (!frame.viewer) throw auditErrors.signIn()
  const archives = answers.files.map((each) => toArchiveView('audit', each))
  return { frame, rows: answers.rows, archives, archived: archived ? readFileName(c) : '' }
}

const readFileName = (c: PageContext): string => c.req.query('archived') ?? ''

/** Reads the file of the archive that the page shows; undefined for stored calls. */
async function readFile(c: PageContext): Promise<ArchivedRecords | undefined> {
  const name = readFileName(c)
  if (!archiveName.test(name)) return undefined
  return readRecords(c.var.context.archive, 'audit', name)
}

async function requireSignIn(c: PageContext) {
  const credential = await readCredential(c)
  if (!credential) throw auditErrors.signIn()
  return credential
}

interface AuditPageProps {
  frame: Frame
  rows: AuditRow[]
  values: AuditFilterValues
  /** The values of the form as a query string. */
  query: string
  /** Cursor of the next page; null on the last one. */
  next: string | null
  problem: FormProblem | null
  /** Files of older calls, and the name of the one that is shown; '' for none. */
  archives: ArchiveView[]
  archived: string
}

/** Lists tool calls with account, task, decision and outcome. */
const AuditPage: FC<AuditPageProps> = (props) => {
  const { frame, rows, values: typed, problem, archives, archived } = props
  const query = addParameter(props.query, 'archived', archived)
  const next = props.next && addParameter(query, 'cursor', props.next)
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout frame={frame} title="Audit" place="audit" sheet="admin">
      <AdminTabs here="audit" isAdmin={isAdmin} />
      <div class="head">
        <div>
          <h1>Audit</h1>
          <p class="lede">
            {isAdmin
              ? 'All tool calls of all accounts. Entries are never changed or deleted; old ones are archived.'
              : 'Your tool calls, and those of agents whose definition you wrote.'}
          </p>
        </div>
        <div class="acts">
          <a class="btn" href={`/audit.csv?${query}`} download>
            <Icon name="download" />
            CSV
          </a>
        </div>
      </div>
      <ErrorSummary problem={problem} />
      <FilterForm typed={typed} />
      {rows.length === 0 ? (
        <EmptyList things="calls" unfiltered={query === '' ? null : '/audit'}>
          Mention an agent in a post to see its tool calls here.
        </EmptyList>
      ) : (
        <AuditTable rows={rows} now={frame.now} archived={archived} />
      )}
      <Pager href={next && `/audit?${next}`}>Older calls</Pager>
      {next === null && <Archives archives={archives} query={props.query} />}
    </Layout>
  )
}

const addParameter = (query: string, name: string, value: string): string => {
  const added = new URLSearchParams(query)
  if (value !== '') added.set(name, value)
  return added.toString()
}

/** Links to the files of older calls, by day. */
const Archives: FC<{ archives: ArchiveView[]; query: string }> = ({ archives, query }) =>
  archives.length === 0 ? null : (
    <section class="up5">
      <h2>Archived calls</h2>
      <p class="lede">
        Older calls are archived by day. Choose other days in the filter to see more of them.
      </p>
      <ul class="acts up3">
        {archives.map(({ name, day }) => (
          <li>
            <TextLink href={`/audit?${addParameter(query, 'archived', name)}`}>{day}</TextLink>
          </li>
        ))}
      </ul>
    </section>
  )

const AuditTable: FC<{ rows: AuditRow[]; now: number; archived: string }> = ({
  rows,
  now,
  archived,
}) => (
  <table class="tbl fold up4">
    <TableHead
      columns={[
        'Tool',
        'Account',
        'Called',
        'Task',
        'Decision',
        'Outcome',
        { right: 'Duration' },
        { right: 'Size' },
      ]}
    />
    <tbody>
      {rows.map((row) => (
        <tr data-row>
          <td>
            <a class="plain" href={auditPath(row.id, archived)}>
              {formatToolName(row.tool)}
            </a>
            {row.grant && (
              <div class="meta">
                <code>{row.grant}</code>
              </div>
            )}
          </td>
          <td>
            <AccountLink name={row.account.name} kind={row.account.kind} />
          </td>
          <td class="nb" data-l="Called">
            <RelativeTime at={row.at} now={now} />
          </td>
          <td class="whole" data-l="Task">
            <TaskLink row={row} />
          </td>
          <td class="whole" data-l="Decision">
            <DecisionLabel row={row} />
          </td>
          <td data-l="Outcome">{formatOutcome(row)}</td>
          <td class="r" data-l="Duration">
            {row.durationMs !== null && formatSpan(row.durationMs)}
          </td>
          <td class="r" data-l="Size">
            {row.resultBytes !== null && formatBytes(row.resultBytes)}
          </td>
        </tr>
      ))}
    </tbody>
    <caption class="vh">{formatPlural(rows.length, 'call', 'calls')}, newest first</caption>
  </table>
)

const TaskLink: FC<{ row: AuditRow }> = ({ row }) =>
  row.activationId === null ? (
    <>external call</>
  ) : (
    <TextLink href={activationPath(row.activationId)}>
      {row.task ? formatTask(row.task) : 'run'}
      {row.askedBy && ` by ${row.askedBy.name}`}
    </TextLink>
  )

const DecisionLabel: FC<{ row: AuditRow }> = ({ row }) => {
  const isRefused = row.decision === 'denied' || row.decision === 'rate_limited'
  return <span class={isRefused ? 'crit' : undefined}>{decisionLabels[row.decision]}</span>
}

const auditPath = (id: string, archived: string): string =>
  `/audit/${encodeURIComponent(id)}${archived && `?${addParameter('', 'archived', archived)}`}`

interface AuditEntryPageProps {
  frame: Frame
  row: AuditRow
  contents: CallContents
}

/** Shows a tool call with its arguments and its result. */
const AuditEntryPage: FC<AuditEntryPageProps> = ({ frame, row, contents: texts }) => {
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout
      frame={frame}
      title={`${formatToolName(row.tool)} by ${row.account.name}`}
      place="audit"
      sheet="admin"
    >
      <AdminTabs here="audit" isAdmin={isAdmin} />
      <h1>{formatToolName(row.tool)}</h1>
      <div class="by up2">
        <AccountLink name={row.account.name} kind={row.account.kind} />
        <RelativeTime at={row.at} now={frame.now} />
        <span>
          <DecisionLabel row={row} />, {formatOutcome(row)}
        </span>
      </div>
      <Facts row={row} />
      <Texts row={row} texts={texts} />
    </Layout>
  )
}

const Facts: FC<{ row: AuditRow }> = ({ row }) => (
  <dl class="def up4">
    <dt>Grant</dt>
    <dd>{row.grant ? <code>{row.grant}</code> : 'not checked'}</dd>
    {row.reason !== null && (
      <>
        <dt>Reason</dt>
        <dd>
          <Reason text={row.reason} />
        </dd>
      </>
    )}
    <dt>Task</dt>
    <dd>
      <TaskLink row={row} />
    </dd>
    <dt>Time</dt>
    <dd>
      {formatExact(row.at)}
      {row.durationMs !== null && `, took ${formatSpan(row.durationMs)}`}
    </dd>
    {row.resultBytes !== null && (
      <>
        <dt>Result size</dt>
        <dd>{formatBytes(row.resultBytes)}</dd>
      </>
    )}
    <dt>Arguments hash</dt>
    <dd class="rules">
      <code>{row.argumentsHash || 'none'}</code>
    </dd>
  </dl>
)

/** Shows the reason that the caller received, with a link to the line of the policy that it names. */
const Reason: FC<{ text: string }> = ({ text }) => {
  const [, reason = text, path] =
    /^(.*?)(\/policy\/[\w%.~-]+#(?:allowed|denied))$/s.exec(text) ?? []
  return (
    <>
      {reason}
      {path && <TextLink href={path}>{path}</TextLink>}
    </>
  )
}

/** Links to the page on which an admin opens a private run. */
const ClosedRun: FC<{ id: string | null }> = ({ id }) => (
  <>
    The run is private to others.{' '}
    {id !== null && <TextLink href={activationPath(id)}>Open it as admin</TextLink>} to see
    arguments and result.
  </>
)

const Texts: FC<{ row: AuditRow; texts: CallContents }> = ({ row, texts }) => (
  <>
    <Block title="Arguments">
      {texts.arguments === null ? (
        <p class="meta">
          {texts.isClosed ? (
            <ClosedRun id={row.activationId} />
          ) : row.activationId === null ? (
            'The arguments were not stored. Compare the hash to find calls with the same arguments.'
          ) : (
            'The arguments are in the trace of the run, which is not stored yet or was deleted.'
          )}
        </p>
      ) : (
        <pre class="up3" tabindex={0}>
          {formatArguments(texts.arguments)}
        </pre>
      )}
    </Block>
    {texts.result !== null && (
      <Block title="Result">
        <pre class="up3" tabindex={0}>
          {texts.result}
        </pre>
      </Block>
    )}
  </>
)

/** The values of the filter form; '' for empty fields. */
type AuditFilterValues = Record<(typeof filterFields)[number], string>

const filterFields = ['account', 'tool', 'decision', 'outcome', 'since', 'until'] as const

const FilterForm: FC<{ typed: AuditFilterValues }> = ({ typed }) => {
  const form = createForm(typed)
  const text = { form, autocomplete: 'off' }
  const choice = { form, as: 'select' } as const
  const decisions = { '': 'Any', ...decisionLabels }
  const outcomes = { '': 'Any', ...outcomeLabels }
  return (
    <form class="filter" action="/audit" aria-label="Filter calls">
      <Field {...text} name="account" label="Account" placeholder="Any" />
      <Field {...text} name="tool" label="Tool" placeholder="Any, or github_*" />
      <Field {...choice} name="decision" label="Decision" options={decisions} />
      <Field {...choice} name="outcome" label="Outcome" options={outcomes} />
      <Field {...text} name="since" label="From (UTC)" type="date" />
      <Field {...text} name="until" label="Before (UTC)" type="date" />
      <Submit>Filter</Submit>
    </form>
  )
}

interface FilterRead<Name extends string, Filter> {
  /** The text of each field of the form; '' for empty fields. */
  values: Typed<Name>
  filter: Filter
  /** The filled-in fields as a query string, for links to the next page and to the CSV. */
  query: string
  /** Why the filter is not valid; the page then shows the unfiltered list. */
  problem: FormProblem | null
}

/** Parses the filter in the query of a page; a filter without fields matches everything. */
export function readFilter<Name extends string, Filter>(
  c: PageContext,
  names: readonly Name[],
  schema: z.ZodType<Filter>,
): FilterRead<Name, Filter> {
  const fields = names.map((name) => [name, c.req.query(name) ?? ''] as const)
  const given = fields.filter(([, value]) => value !== '')
  const values = Object.fromEntries(fields) as Typed<Name>
  const query = new URLSearchParams(given.map(([name, value]) => [name, value])).toString()
  const parsed = schema.safeParse(Object.fromEntries(given))
  if (parsed.success) return { values, filter: parsed.data, query, problem: null }
  const { message, hint } = toProblem(auditErrors.filter(listDetails(parsed.error, '')))
  return { values, filter: schema.parse({}), query, problem: { message, hint } }
}

/** Returns the filter of a CSV. @throws VALIDATION for an invalid one */
export function requireFilter<Name extends string, Filter>(
  c: PageContext,
  names: readonly Name[],
  schema: z.ZodType<Filter>,
): Filter {
  const { filter, problem } = readFilter(c, names, schema)
  if (problem) throw auditErrors.csvFilter(problem.message, problem.hint ?? '')
  return filter
}

const headers = [
  'time_utc',
  'account',
  'kind',
  'tool',
  'grant',
  'decision',
  'outcome',
  'duration_ms',
  'result_bytes',
  'asked_by',
  'activation_id',
  'arguments_hash',
  'reason',
  'id',
]

/** Returns audit entries as CSV, without the arguments, which the page of each entry shows. */
const formatAuditCsv = (rows: AuditRow[]): string =>
  formatCsv([
    headers,
    ...rows.map((row) => [
      toIso(row.at),
      row.account.name,
      row.account.kind,
      row.tool,
      row.grant,
      row.decision,
      row.outcome,
      row.durationMs,
      row.resultBytes,
      row.askedBy?.name ?? null,
      row.activationId,
      row.argumentsHash,
      row.reason,
      row.id,
    ]),
  ])

/** Labels of decisions on tool calls. */
const decisionLabels: Record<AuditEntry['decision'], string> = {
  allowed: 'allowed',
  denied: 'denied',
  needs_approval: 'requires approval',
  rate_limited: 'rate limited',
  invalid: 'invalid arguments',
  unknown_tool: 'unknown tool',
}

/** Labels of outcomes of tool calls. */
const outcomeLabels: Record<NonNullable<AuditEntry['outcome']>, string> = {
  ok: 'succeeded',
  error: 'failed',
  timeout: 'timed out',
  cancelled: 'cancelled',
}

/** Returns the label of an outcome; an allowed call without one was interrupted. */
function formatOutcome({ decision, outcome }: Pick<AuditEntry, 'decision' | 'outcome'>): string {
  if (outcome !== null) return outcomeLabels[outcome]
  return decision === 'allowed' ? 'unknown' : 'not run'
}
