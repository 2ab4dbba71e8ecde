import type { FC } from 'hono/jsx'
import { type AgentPageRequest, agentStates } from '../../hub/scheduler/queries'
import type { Board } from '../../hub/scheduler/read-board'
import {
  filterLabels,
  formatAge,
  formatExplorationReason,
  stateLabels,
} from '../../hub/scheduler/scheduler-labels'
import { encodeCursor } from '../../shared/cursor'
import { formatExact, toIso } from '../../shared/format'
import { AccountLink } from '../parts/account-link'
import { Icon } from '../parts/icons'
import { StatusShape } from '../parts/meter'
import { Pager } from '../parts/pager'

/** The list of agents, for its cursors. */
export const agentList = '/scheduler#agents'

const linkTo = (page: AgentPageRequest, change: Partial<AgentPageRequest>): string =>
  `/scheduler${writeAgentQuery({ ...page, after: null, ...change })}#agents`

/** Links to the CSV of all pages of the list. */
const linkToCsv = (page: AgentPageRequest): string =>
  `/scheduler.csv${writeAgentQuery({ ...page, after: null })}`

const writeAgentQuery = (page: AgentPageRequest): string => {
  const params = new URLSearchParams()
  if (page.state !== 'all') params.set('state', page.state)
  if (page.name) params.set('name', page.name)
  if (page.after) params.set('cursor', encodeCursor(agentList, page.after))
  const query = params.toString()
  return query && `?${query}`
}

export interface AgentSectionProps {
  board: Board
  page: AgentPageRequest
  now: number
}

/**
 * Lists the agents of this hub, the longest idle first: time since the last run, and why it does not run
 * now.
 */
export const AgentSection: FC<AgentSectionProps> = ({ board, page, now }) => (
  <section class="block" id="agents">
    <h2>
      Time since each agent’s last run{' '}
      <span class="meta">tick: its exploration interval; the bar ends at three intervals</span>
    </h2>
    <nav class="picks" aria-label="Agent filter">
      <p class="pick">
        {agentStates.map((state) => (
          <a
            href={linkTo(page, { state })}
            aria-current={state === page.state ? 'true' : undefined}
          >
            {filterLabels[state]}
          </a>
        ))}
      </p>
      <form class="acts" action="/scheduler#agents">
        {page.state !== 'all' && <input type="hidden" name="state" value={page.state} />}
        <label class="meta" for="agent-name">
          Name starts with
        </label>
        <input id="agent-name" name="name" value={page.name} maxlength={32} autocomplete="off" />
        <button type="submit" class="btn">
          Find
        </button>
      </form>
    </nav>
    {board.agents.length === 0 ? <NoAgents page={page} /> : <AgentTable board={board} now={now} />}
    <Pager href={board.next && linkTo(page, { after: board.next })}>More agents</Pager>
    {board.agents.length > 0 && (
      <p class="acts up2">
        <a class="btn" href={linkToCsv(page)} download>
          <Icon name="download" />
          CSV
        </a>
      </p>
    )}
  </section>
)

const NoAgents: FC<{ page: AgentPageRequest }> = ({ page }) => (
  <div class="empty">
    <p>
      <strong>No agents match.</strong>
      {page.state === 'all' && page.name === '' ? (
        'Agents that run on this hub appear here once they have a definition.'
      ) : (
        <a href="/scheduler#agents">Show all agents</a>
      )}
    </p>
  </div>
)

const AgentTable: FC<{ board: Board; now: number }> = ({ board, now }) => (
  <table class="tbl fold up2">
    <thead>
      <tr>
        <th scope="col">Agent</th>
        <th scope="col" class="bar">
          Since exploring
        </th>
        <th scope="col" class="r">
          Last run
        </th>
        <th scope="col" class="r">
          Weight
        </th>
        <th scope="col">State</th>
        <th scope="col">Reason</th>
      </tr>
    </thead>
    <tbody>
      {board.agents.map((agent) => (
        <tr data-row>
          <th scope="row">
            <AccountLink name={agent.name} kind="agent" />
          </th>
          <td class="whole">
            <StaleBar agent={agent} now={now} />
          </td>
          <td class="r" data-l="Last run">
            {agent.lastActivatedAt === 0 ? (
              'never ran'
            ) : (
              <time
                datetime={toIso(agent.lastActivatedAt)}
                title={formatExact(agent.lastActivatedAt)}
              >
                {formatAge(now - agent.lastActivatedAt)}
              </time>
            )}
          </td>
          <td class="r" data-l="Weight">
            {agent.intervalMs === null ? '' : agent.weight}
          </td>
          <td class="nb" data-l="State">
            <State agent={agent} />
          </td>
          <td class="whole why">
            {formatExplorationReason(agent, board.view, now)}
            {agent.exploration?.reason === 'budget' && (
              <>
                {' '}
                <a class="ul" href="/budgets">
                  Budgets
                </a>
              </>
            )}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

type Agent = Board['agents'][number]

const State: FC<{ agent: Agent }> = ({ agent }) => {
  if (!agent.exploration) return <span>unknown</span>
  const { word, look } = stateLabels[agent.exploration.reason]
  if (look === null) return <span>{word}</span>
  return look === 'lit' ? <span class="lit">{word}</span> : <StatusShape look={look} word={word} />
}

/** Intervals that the bar shows at most. */
const intervalsMax = 3

/** Draws the time since an agent's last exploration in its intervals; nothing for an agent that does not explore. */
const StaleBar: FC<{ agent: Agent; now: number }> = ({ agent, now }) => {
  const { intervalMs, lastExploredAt, exploration } = agent
  if (intervalMs === null) return null
  const isNew = lastExploredAt === 0
  const share = isNew ? intervalsMax : Math.min(intervalsMax, (now - lastExploredAt) / intervalMs)
  const isBlocked = exploration !== null && stateLabels[exploration.reason].look === 'hot'
  const label = isNew
    ? 'Never explored'
    : `${formatAge(now - lastExploredAt)} since the last exploration`
  return (
    <svg
      class={isBlocked ? 'stale z' : 'stale'}
      viewBox="0 0 300 14"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}, interval ${formatAge(intervalMs)}`}
    >
      <line class="grid" x1="0" x2="300" y1="7" y2="7" />
      <rect class="q" y="3" height="8" width={Math.round(share * 100)} />
      <line x1="100" x2="100" y1="0" y2="14" />
    </svg>
  )
}
