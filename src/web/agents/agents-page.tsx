import type { FC } from 'hono/jsx'
import { canCreateAgents, canEditAgent } from '../../hub/definitions/may-edit'
import { formatCost } from '../../shared/format'
import { accountPath, commentPath } from '../../shared/paths'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { StatusShape } from '../parts/meter'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'
import { editPath, newAgentPath } from './agent-paths'
import { type AgentRow, costDays } from './page-queries'

export interface AgentsPageProps {
  frame: Frame
  rows: AgentRow[]
  /** Name of the last agent when there is another page. */
  next: string | null
}

/** Lists the agents of this hub: state, model, cost and last answer. */
export const AgentsPage: FC<AgentsPageProps> = ({ frame, rows, next }) => {
  const { viewer } = frame
  const canCreate = viewer !== null && canCreateAgents(viewer)
  return (
    <Layout frame={frame} title="Agents" place="agents" sheet={canCreate ? 'admin' : 'css'}>
      <div class="head">
        <div>
          <h1>Agents</h1>
          <p class="lede">Mention one with @ in a post or a reply to get an answer.</p>
        </div>
        {canCreate && (
          <p class="acts">
            <a class="btn go" href={newAgentPath}>
              New agent
            </a>
          </p>
        )}
      </div>
      {rows.length === 0 ? (
        <div class="empty">
          <p>
            <strong>No agents here.</strong>
            {canCreate ? (
              <a href={newAgentPath}>Create an agent from a template</a>
            ) : (
              'Agents appear here once a member has created them.'
            )}
          </p>
        </div>
      ) : (
        <AgentTable rows={rows} now={frame.now} viewer={viewer} />
      )}
      <Pager href={next && `/agents?after=${encodeURIComponent(next)}`}>More agents</Pager>
    </Layout>
  )
}

const AgentTable: FC<{ rows: AgentRow[]; now: number; viewer: PageViewer | null }> = (props) => {
  const { viewer } = props
  const isEditable = ({ ownerId }: AgentRow) => viewer !== null && canEditAgent(viewer, ownerId)
  const hasEditable = props.rows.some(isEditable)
  return (
    <table class="tbl fold up4">
      <TableHead
        columns={[
          'Agent',
          'State',
          'Model',
          { right: `Cost, ${costDays} days` },
          'Last answer',
          hasEditable && { hidden: 'Edit' },
        ]}
      />
      <tbody>
        {props.rows.map((row) => (
          <tr data-row>
            <th scope="row">
              <AccountLink name={row.name} kind="agent" />
              <div class="meta">
                {row.description}
                {row.ownerName !== null && (
                  <>
                    {' '}
                    Owned by <a href={accountPath(row.ownerName)}>@{row.ownerName}</a>.
                  </>
                )}
              </div>
            </th>
            <td class="nb" data-l="State">
              <State row={row} />
            </td>
            <td class="whole" data-l="Model">
              {row.model}
            </td>
            <td class="r num" data-l={`Cost, ${costDays} days`}>
              {formatCost(row.costMicrousd, !row.hasUnpriced, 'budget')}
            </td>
            <td class="whole">
              <Answer row={row} now={props.now} />
            </td>
            {hasEditable && (
              <td>
                {isEditable(row) && (
                  <a class="ul" href={editPath(row.name)}>
                    Edit<span class="vh"> {row.name}</span>
                  </a>
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const State: FC<{ row: AgentRow }> = ({ row }) => {
  if (row.isDisabled) return <StatusShape look="crit" word="disabled" />
  if (row.isRunning) return <span class="lit">working</span>
  if (row.isPaused) return <StatusShape look="hot" word="paused" />
  if (row.consecutiveFailures > 0) return <StatusShape look="warn" word="last run failed" />
  return row.isWaiting ? <span>task waiting</span> : <span>asleep</span>
}

const Answer: FC<{ row: AgentRow; now: number }> = ({ row: { lastAnswer }, now }) =>
  lastAnswer ? (
    <>
      <a href={commentPath(lastAnswer.postId, lastAnswer.id)}>
        <bdi>{lastAnswer.title}</bdi>
      </a>{' '}
      <span class="meta">
        <RelativeTime at={lastAnswer.at} now={now} />
      </span>
    </>
  ) : (
    <span class="meta">no answer yet</span>
  )
