import type { FC } from 'hono/jsx'
import type { ActivationRow } from '../../hub/activations/page-queries'
import { formatOutcome, formatTask } from '../../hub/traces/run-labels'
import { formatCost, formatCount, formatDuration } from '../../shared/format'
import { activationPath } from '../../shared/paths'
import { AccountLink } from './account-link'
import { RelativeTime } from './relative-time'
import { TableHead } from './table-head'

export interface ActivationTableProps {
  /** With requesters where the list shows who asked. */
  rows: (ActivationRow & { requesters?: readonly string[] })[]
  now: number
  /** Shows the agent's name; not needed on the page of one agent. */
  hasAgent?: boolean
}

export const ActivationTable: FC<ActivationTableProps> = ({ rows, now, hasAgent = false }) => (
  <table class="tbl fold">
    <TableHead
      columns={[
        'Run',
        hasAgent && 'Agent',
        'Started',
        'Trigger',
        'Outcome',
        { right: 'Duration' },
        { right: 'Tokens' },
        { right: 'Cost' },
      ]}
    />
    <tbody>
      {rows.map((row) => (
        <tr data-row>
          <td>
            <a class="plain" href={activationPath(row.id)}>
              <bdi>{row.postTitle ?? formatTask(row.task)}</bdi>
            </a>
          </td>
          {hasAgent && (
            <td>
              <AccountLink name={row.agentName} kind="agent" />
            </td>
          )}
          <td class="nb" data-l="Started">
            <RelativeTime at={row.startedAt} now={now} />
          </td>
          <td class={row.requesters ? 'whole' : 'nb'} data-l="Trigger">
            {formatTask(row.task)}
            {row.requesters && row.requesters.length > 0 && ` by ${row.requesters.join(', ')}`}
          </td>
          <td data-l="Outcome">
            <Outcome row={row} />
          </td>
          <td class="r" data-l="Duration">
            {formatDuration((row.finishedAt ?? now) - row.startedAt)}
          </td>
          <td class="r" data-l="Tokens">
            {row.state === 'done' && formatCount(row.tokens)}
          </td>
          <td class="r" data-l="Cost">
            {row.state === 'done' && formatCost(row.costMicrousd, row.isPriced, 'thread')}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const Outcome: FC<{ row: ActivationRow }> = ({ row }) => {
  if (row.state === 'running') return <span class="lit">running</span>
  if (row.state === 'parked') return <>waiting</>
  if (row.outcome === 'completed') return <>completed</>
  return <span class="warn">{formatOutcome(row.outcome)}</span>
}
