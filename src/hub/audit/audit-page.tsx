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
  /** What the form holds, and as a query. */
  typed: TypedFilter
  query: string
  /** Cursor of the page after this one. */
  next: string | null
  problem: FormProblem | null
}

/** Every call of a tool: who, on whose task, what was decided, how it ended (M9). */
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
              ? 'Every call of a tool, whoever made it. Entries are never changed and never deleted.'
              : 'Your calls of tools, and those of agents that run by a definition of yours.'}
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
      <strong>{isFiltered ? 'No call fits.' : 'No tool was called yet.'}</strong>
      {isFiltered ? (
        <>
          Leave out one of the conditions, or{' '}
          <a class="ul" href="/audit">
            look at all of them
          </a>
          .
        </>
      ) : (
        'Name an agent in a post: what it searches, reads and writes is listed here.'
      )}
    </p>
  </div>
)

const AuditTable: FC<{ rows: AuditRow[]; now: number }> = ({ rows, now }) => (
  <table class="tbl fold up4">
    <thead>
      <tr>
        <th scope="col">Tool</th>
        <th scope="col">Who</th>
        <th scope="col">When</th>
        <th scope="col">Task</th>
        <th scope="col">Decision</th>
        <th scope="col">End</th>
        <th scope="col" class="r">
          Time
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
          <td class="nb" data-l="When">
            <Ago at={row.at} now={now} />
          </td>
          <td class="whole" data-l="Task">
            <TaskOf row={row} />
          </td>
          <td class="whole" data-l="Decision">
            <DecisionOf row={row} />
          </td>
          <td data-l="End">{sayEnd(row)}</td>
          <td class="r" data-l="Time">
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
    <>from outside</>
  ) : (
    <a class="ul" href={activationPath(row.activationId)}>
      {row.task ? sayTask(row.task) : 'its activation'}
      {row.askedBy && ` by ${row.askedBy}`}
    </a>
  )

export const DecisionOf: FC<{ row: AuditRow }> = ({ row }) => {
  const isRefusal = row.decision === 'denied' || row.decision === 'rate_limited'
  return <span class={isRefusal ? 'crit' : undefined}>{decisionWords[row.decision]}</span>
}

const auditPath = (id: string): string => `/audit/${encodeURIComponent(id)}`
