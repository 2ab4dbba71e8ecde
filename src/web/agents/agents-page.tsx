import type { FC } from 'hono/jsx'
import { formatCost } from '../../shared/format'
import { commentPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { StatusShape } from '../parts/meter'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'
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
  const canEdit = frame.viewer?.isAdmin ?? false
  return (
    <Layout frame={frame} title="Agents" place="agents" sheet={canEdit ? 'admin' : 'css'}>
      <div class="head">
        <div>
          <h1>Agents</h1>
          <p class="lede">Mention one with @ in a post or a reply to get an answer.</p>
        </div>
        {canEdit && (
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
            {canEdit ? (
              <a href={newAgentPath}>Create an agent from a template</a>
            ) : (
              'Agents appear here once an admin has created them.'
            )}
          </p>
        </div>
      ) : (
        <AgentTable rows={rows} now={frame.now} canEdit={canEdit} />
      )}
      <Pager href={next && `/agents?after=${encodeURIComponent(next)}`}>More agents</Pager>
    </Layout>
  )
}

const AgentTable: FC<{ rows: AgentRow[]; now: number; canEdit: boolean }> = (props) => (
  <table class="tbl fold up4">
    <thead>
      <tr>
        <th scope="col">Agent</th>
        <th scope="col">State</th>
        <th scope="col">Model</th>
        <th scope="col" class="r">
          Cost, {costDays} days
        </th>
        <th scope="col">Last answer</th>
        {props.canEdit && (
          <th scope="col">
            <span class="vh">Edit</span>
          </th>
        )}
      </tr>
    </thead>
    <tbody>
      {props.rows.map((row) => (
        <tr data-row>
          <th scope="row">
            <AccountLink name={row.name} kind="agent" />
            <div class="meta">{row.description}</div>
          </th>
          <td class="nb" data-l="State">
            <State row={row} />
          </td>
          <td data-l="Model">{row.model}</td>
          <td class="r num" data-l={`Cost, ${costDays} days`}>
            {formatCost(row.costMicrousd, !row.hasUnpriced, 'budget')}
          </td>
          <td class="whole">
            <Answer row={row} now={props.now} />
          </td>
          {props.canEdit && (
            <td>
              <a class="ul" href={editPath(row.name)}>
                Edit<span class="vh"> {row.name}</span>
              </a>
            </td>
          )}
        </tr>
      ))}
    </tbody>
  </table>
)

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
      <a href={commentPath(lastAnswer.postId, lastAnswer.id)}>{lastAnswer.title}</a>{' '}
      <span class="meta">
        <RelativeTime at={lastAnswer.at} now={now} />
      </span>
    </>
  ) : (
    <span class="meta">no answer yet</span>
  )
