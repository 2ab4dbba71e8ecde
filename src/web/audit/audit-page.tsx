import type { FC } from 'hono/jsx'
import type { AuditRow } from '../../hub/audit/list-queries'
import { formatTask, formatToolName } from '../../hub/traces/run-labels'
import { formatBytes, formatPlural, formatSpan } from '../../shared/format'
import { activationPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { EmptyList } from '../parts/empty-list'
import { Icon } from '../parts/icons'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'
import { type AuditFilterValues, FilterForm } from './audit-filter-form'
import { decisionLabels, formatOutcome } from './audit-labels'

export interface AuditPageProps {
  frame: Frame
  rows: AuditRow[]
  values: AuditFilterValues
  /** The values of the form as a query string. */
  query: string
  /** Cursor of the next page; null on the last one. */
  next: string | null
  problem: FormProblem | null
}

/** Lists tool calls with account, task, decision and outcome. */
export const AuditPage: FC<AuditPageProps> = (props) => {
  const { frame, rows, values: typed, query, next, problem } = props
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout frame={frame} title="Audit" place="admin" sheet="admin">
      <AdminTabs here="audit" isAdmin={isAdmin} />
      <div class="head">
        <div>
          <h1>Audit</h1>
          <p class="lede">
            {isAdmin
              ? 'All tool calls of all accounts. Entries are never changed or deleted.'
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
        <AuditTable rows={rows} now={frame.now} />
      )}
      <Pager href={next && `/audit?${query}${query && '&'}cursor=${next}`}>Older calls</Pager>
    </Layout>
  )
}

const AuditTable: FC<{ rows: AuditRow[]; now: number }> = ({ rows, now }) => (
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
            <a class="plain" href={auditPath(row.id)}>
              {formatToolName(row.tool)}
            </a>
            {row.grant && (
              <div class="meta">
                <code>{row.grant}</code>
              </div>
            )}
          </td>
          <td>
            <AccountLink name={row.accountName} kind={row.accountKind} />
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

export const TaskLink: FC<{ row: AuditRow }> = ({ row }) =>
  row.activationId === null ? (
    <>external call</>
  ) : (
    <a class="ul" href={activationPath(row.activationId)}>
      {row.task ? formatTask(row.task) : 'run'}
      {row.askedBy && ` by ${row.askedBy}`}
    </a>
  )

export const DecisionLabel: FC<{ row: AuditRow }> = ({ row }) => {
  const isRefused = row.decision === 'denied' || row.decision === 'rate_limited'
  return <span class={isRefused ? 'crit' : undefined}>{decisionLabels[row.decision]}</span>
}

const auditPath = (id: string): string => `/audit/${encodeURIComponent(id)}`
