import type { FC } from 'hono/jsx'
import { AdminTabs } from '../web/admin-tabs'
import { sayTask, sayTool } from '../web/agent-words'
import { Ago } from '../web/ago'
import { formatBytes, formatPlural, formatSpan } from '../web/format'
import type { FormProblem, Frame } from '../web/frame'
import { Icon } from '../web/icons'
import { Layout } from '../web/layout'
import { Problem } from '../web/problem'
import { activationPath, Who } from '../web/who'
import { FilterForm, type TypedFilter } from './audit-filter-form'
import { decisionWords, sayEnd } from './audit-words'
import type { AuditRow } from './list-queries'

export interface AuditPageProps {
  frame: Frame
  rows: AuditRow[]
  typed: TypedFilter
  /** The values of the form as a query string. */
  query: string
  /** Cursor of the next page; null on the last one. */
  next: string | null
  problem: FormProblem | null
}

/** Lists tool calls with account, task, decision and outcome. */
export const AuditPage: FC<AuditPageProps> = (props) => {
  const { frame, rows, typed, query, next, problem } = props
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
      <Problem problem={problem} />
      <FilterForm typed={typed} />
      {rows.length === 0 ? (
        <Empty isFiltered={query !== ''} />
      ) : (
        <AuditTable rows={rows} now={frame.now} />
      )}
      {next !== null && (
        <p class="pager">
          <a href={`/audit?${query}${query && '&'}cursor=${next}`} rel="next">
            Older calls
          </a>
        </p>
      )}
    </Layout>
  )
}

const Empty: FC<{ isFiltered: boolean }> = ({ isFiltered }) => (
  <div class="empty">
    <p>
      <strong>{isFiltered ? 'No matching calls.' : 'No tool calls yet.'}</strong>
      {isFiltered ? (
        <>
          Remove a filter, or{' '}
          <a class="ul" href="/audit">
            show all calls
          </a>
          .
        </>
      ) : (
        'Mention an agent in a post to see its tool calls here.'
      )}
    </p>
  </div>
)

const AuditTable: FC<{ rows: AuditRow[]; now: number }> = ({ rows, now }) => (
  <table class="tbl fold up4">
    <thead>
      <tr>
        <th scope="col">Tool</th>
        <th scope="col">Account</th>
        <th scope="col">Called</th>
        <th scope="col">Task</th>
        <th scope="col">Decision</th>
        <th scope="col">Outcome</th>
        <th scope="col" class="r">
          Duration
        </th>
        <th scope="col" class="r">
          Size
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr data-row>
          <td>
            <a class="plain" href={auditPath(row.id)}>
              {sayTool(row.tool)}
            </a>
            {row.grant && (
              <div class="meta">
                <code>{row.grant}</code>
              </div>
            )}
          </td>
          <td>
            <Who name={row.accountName} kind={row.accountKind} />
          </td>
          <td class="nb" data-l="Called">
            <Ago at={row.at} now={now} />
          </td>
          <td class="whole" data-l="Task">
            <TaskOf row={row} />
          </td>
          <td class="whole" data-l="Decision">
            <DecisionOf row={row} />
          </td>
          <td data-l="Outcome">{sayEnd(row)}</td>
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

export const TaskOf: FC<{ row: AuditRow }> = ({ row }) =>
  row.activationId === null ? (
    <>external call</>
  ) : (
    <a class="ul" href={activationPath(row.activationId)}>
      {row.task ? sayTask(row.task) : 'run'}
      {row.askedBy && ` by ${row.askedBy}`}
    </a>
  )

export const DecisionOf: FC<{ row: AuditRow }> = ({ row }) => {
  const isRefused = row.decision === 'denied' || row.decision === 'rate_limited'
  return <span class={isRefused ? 'crit' : undefined}>{decisionWords[row.decision]}</span>
}

const auditPath = (id: string): string => `/audit/${encodeURIComponent(id)}`
