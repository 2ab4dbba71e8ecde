import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, readCredential } from '../../hub/http/page-entry'
import {
  type AdminLogList,
  type AdminLogRow,
  selectAdminLog,
} from '../../hub/operations/audit-queries'
import { adminLogFilter } from '../../hub/operations/audit-view'
import { audit } from '../../shared/config'
import { decodeKeyset, splitPage, toTimeKey } from '../../shared/cursor'
import { formatPlural, toIso } from '../../shared/format'
import { ErrorSummary, Field, Submit } from '../form/fields'
import { createForm, type FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { type PageContext, page, pageErrors, readPage, sendCsv, sendPage } from '../frame/send-page'
import { formatCsv } from '../parts/csv'
import { AccountLink } from '../parts/links'
import { EmptyList, Pager, TableHead } from '../parts/lists'
import { Icon } from '../parts/meter'
import { RelativeTime } from '../parts/times'
import { readFilter, requireFilter } from './audit-page'

/** Registers `GET /admin/log` and `/admin/log.csv` with the same filter, for admins. */
export function registerAdminLogPages(app: Hono<HubEnv>): void {
  app.get('/admin/log', page(showLog))
  app.get('/admin/log.csv', page(downloadLog))
}

async function showLog(c: PageContext): Promise<Response> {
  const { filter, ...read } = readFilter(c, adminLogFields, adminLogFilter)
  const before = decodeKeyset('/admin/log', c.req.query('cursor'))
  const { frame, rows } = await readRows(c, { ...filter, before, limit: audit.pageDefault + 1 })
  const { page: shown, next } = splitPage(rows, audit.pageDefault, '/admin/log', toTimeKey)
  const props = { frame, rows: shown, next, ...read }
  return sendPage(c, <AdminLogPage {...props} />, read.problem ? 400 : 200)
}

async function downloadLog(c: PageContext): Promise<Response> {
  const filter = requireFilter(c, adminLogFields, adminLogFilter)
  const { rows } = await readRows(c, { ...filter, before: null, limit: audit.csvRowsMax })
  return sendCsv(c, 'rookery-admin-log.csv', formatAdminLogCsv(rows))
}

async function readRows(c: PageContext, list: AdminLogList) {
  const credential = await readCredential(c)
  const caller = { credential, now: c.var.context.clock.now() }
  const { frame, answers } = await readPage(c, { rows: selectAdminLog(caller, list) })
  if (!frame.viewer) throw pageErrors.signInRequired()
  if (!frame.viewer.isAdmin) throw pageErrors.adminRequired()
  return { frame, rows: answers.rows }
}

const adminLogFields = ['account', 'action', 'target', 'since', 'until'] as const

/** The values of the filter form; '' for empty fields. */
type AdminLogValues = Record<(typeof adminLogFields)[number], string>

interface AdminLogPageProps {
  frame: Frame
  rows: AdminLogRow[]
  values: AdminLogValues
  /** The values of the form as a query string. */
  query: string
  /** Cursor of the next page; null on the last one. */
  next: string | null
  problem: FormProblem | null
}

/** Lists what admins and moderators did, with the settings before and after. */
const AdminLogPage: FC<AdminLogPageProps> = (props) => {
  const { frame, rows, values, query, next, problem } = props
  return (
    <Layout frame={frame} title="Admin log" place="admin/log" sheet="admin">
      <AdminTabs here="admin/log" isAdmin />
      <div class="head">
        <div>
          <h1>Admin log</h1>
          <p class="lede">
            What admins and moderators did. Entries are never changed or deleted, and contain no
            secrets.
          </p>
        </div>
        <div class="acts">
          <a class="btn" href={`/admin/log.csv?${query}`} download>
            <Icon name="download" />
            CSV
          </a>
        </div>
      </div>
      <ErrorSummary problem={problem} />
      <FilterForm typed={values} />
      {rows.length === 0 ? (
        <EmptyList things="entries" unfiltered={query === '' ? null : '/admin/log'}>
          Changes of roles, policies, budgets, credentials and the like appear here.
        </EmptyList>
      ) : (
        <LogTable rows={rows} now={frame.now} />
      )}
      <Pager href={next && `/admin/log?${query}${query && '&'}cursor=${next}`}>Older entries</Pager>
    </Layout>
  )
}

const FilterForm: FC<{ typed: AdminLogValues }> = ({ typed }) => {
  const text = { form: createForm(typed), autocomplete: 'off' }
  return (
    <form class="filter" action="/admin/log" aria-label="Filter entries">
      <Field {...text} name="account" label="Account" placeholder="Any" />
      <Field {...text} name="action" label="Action" placeholder="Any, or budget.*" />
      <Field {...text} name="target" label="Target" placeholder="Any" />
      <Field {...text} name="since" label="From (UTC)" type="date" />
      <Field {...text} name="until" label="Before (UTC)" type="date" />
      <Submit>Filter</Submit>
    </form>
  )
}

const LogTable: FC<{ rows: AdminLogRow[]; now: number }> = ({ rows, now }) => (
  <table class="tbl fold up4">
    <TableHead columns={['Action', 'Account', 'Time', 'Target', 'Before', 'After']} />
    <tbody>
      {rows.map((row) => (
        <tr data-row>
          <td>
            <code class="nb">{row.action}</code>
            {row.reason && <div class="meta">{row.reason}</div>}
          </td>
          <td>
            {row.account ? (
              <AccountLink name={row.account.name} kind={row.account.kind} />
            ) : (
              <code>{row.accountId}</code>
            )}
          </td>
          <td class="nb" data-l="Time">
            <RelativeTime at={row.at} now={now} />
          </td>
          <td class="whole" data-l="Target">
            {row.targetType} <code>{row.target?.name ?? row.targetId}</code>
          </td>
          <td class="whole" data-l="Before">
            <Settings settings={row.before} />
          </td>
          <td class="whole" data-l="After">
            <Settings settings={row.after} />
          </td>
        </tr>
      ))}
    </tbody>
    <caption class="vh">{formatPlural(rows.length, 'entry', 'entries')}, newest first</caption>
  </table>
)

const Settings: FC<{ settings: Record<string, unknown> | null }> = ({ settings }) => (
  <>
    {Object.entries(settings ?? {}).map(([name, value]) => (
      <div>
        {name}: <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
      </div>
    ))}
  </>
)

const headers = [
  'time_utc',
  'account',
  'account_id',
  'action',
  'target_type',
  'target',
  'target_id',
  'reason',
  'before',
  'after',
  'id',
]

const toJson = (settings: object | null): string | null =>
  settings === null ? null : JSON.stringify(settings)

/** Returns entries of the admin log as CSV. */
const formatAdminLogCsv = (rows: AdminLogRow[]): string =>
  formatCsv([
    headers,
    ...rows.map((row) => [
      toIso(row.at),
      row.account?.name ?? null,
      row.accountId,
      row.action,
      row.targetType,
      row.target?.name ?? null,
      row.targetId,
      row.reason,
      toJson(row.before),
      toJson(row.after),
      row.id,
    ]),
  ])
