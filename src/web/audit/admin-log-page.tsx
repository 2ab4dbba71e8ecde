import type { FC } from 'hono/jsx'
import type { AdminLogRow } from '../../hub/audit/admin-log-queries'
import { formatPlural } from '../../shared/format'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, type FormProblem } from '../form/form-state'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { EmptyList } from '../parts/empty-list'
import { Icon } from '../parts/icons'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'

export const adminLogFields = ['account', 'action', 'target', 'since', 'until'] as const

/** The values of the filter form; '' for empty fields. */
export type AdminLogValues = Record<(typeof adminLogFields)[number], string>

export interface AdminLogPageProps {
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
export const AdminLogPage: FC<AdminLogPageProps> = (props) => {
  const { frame, rows, values, query, next, problem } = props
  return (
    <Layout frame={frame} title="Admin log" place="admin" sheet="admin">
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
      <button type="submit" class="btn">
        Filter
      </button>
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
            {row.accountName && row.accountKind ? (
              <AccountLink name={row.accountName} kind={row.accountKind} />
            ) : (
              <code>{row.accountId}</code>
            )}
          </td>
          <td class="nb" data-l="Time">
            <RelativeTime at={row.at} now={now} />
          </td>
          <td class="whole" data-l="Target">
            {row.targetType} <code>{row.targetName ?? row.targetId}</code>
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
