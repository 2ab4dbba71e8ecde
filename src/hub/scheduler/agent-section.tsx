import type { FC } from 'hono/jsx'
import { writeCursor } from '../cursor'
import { formatExact, toIso } from '../web/format'
import { Icon } from '../web/icons'
import { StatusShape } from '../web/meter'
import { Who } from '../web/who'
import { type AgentPage, type AgentStateFilter, agentStates } from './queries'
import type { Board } from './read-board'
import { sayAge, sayTurn, stateWords } from './words'

const filterWords: Record<AgentStateFilter, string> = {
  all: 'all',
  running: 'running',
  waiting: 'with tasks',
  paused: 'paused',
  failing: 'failing',
  off: 'without turns',
}

const linkTo = (page: AgentPage, change: Partial<AgentPage>): string =>
  `/scheduler${writeAgentQuery({ ...page, after: null, ...change })}#agents`

/** The whole list, whichever part of it is shown. */
const linkToCsv = (page: AgentPage): string =>
  `/scheduler.csv${writeAgentQuery({ ...page, after: null })}`

const writeAgentQuery = (page: AgentPage): string => {
  const params = new URLSearchParams()
  if (page.state !== 'all') params.set('state', page.state)
  if (page.name) params.set('name', page.name)
  if (page.after) params.set('cursor', writeCursor(page.after))
  const query = params.toString()
  return query && `?${query}`
}

export interface AgentSectionProps {
  board: Board
  page: AgentPage
  now: number
}

/** Every agent that runs here, the quietest first: how stale it is, and why it does not run. */
export const AgentSection: FC<AgentSectionProps> = ({ board, page, now }) => (
  <section class="block" id="agents">
    <h2>
      How long since each agent’s last turn{' '}
      <span class="meta">tick: its own interval; the bar ends at three</span>
    </h2>
    <nav class="picks" aria-label="Which agents">
      <p class="pick">
        {agentStates.map((state) => (
          <a
            href={linkTo(page, { state })}
            aria-current={state === page.state ? 'true' : undefined}
          >
            {filterWords[state]}
          </a>
        ))}
      </p>
      <form class="acts" action="/scheduler#agents">
        {page.state !== 'all' && <input type="hidden" name="state" value={page.state} />}
        <label class="meta" for="agent-name">
          name begins with
        </label>
        <input id="agent-name" name="name" value={page.name} maxlength={32} autocomplete="off" />
        <button type="submit" class="btn">
          Find
        </button>
      </form>
    </nav>
    {board.agents.length === 0 ? <NoAgents page={page} /> : <AgentTable board={board} now={now} />}
    {board.next && (
      <p class="pager">
        <a href={linkTo(page, { after: board.next })} rel="next">
          More agents
        </a>
      </p>
    )}
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

const NoAgents: FC<{ page: AgentPage }> = ({ page }) => (
  <div class="empty">
    <p>
      <strong>No agent here is like that.</strong>
      {page.state === 'all' && page.name === '' ? (
        'An agent that runs on this hub is listed as soon as it has a definition.'
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
          Quiet for
        </th>
        <th scope="col" class="r">
          Since
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
            <Who name={agent.name} kind="agent" />
          </th>
          <td class="whole">
            <StaleBar agent={agent} now={now} />
          </td>
          <td class="r" data-l="Since">
            {agent.lastActivatedAt === 0 ? (
              'never ran'
            ) : (
              <time
                datetime={toIso(agent.lastActivatedAt)}
                title={formatExact(agent.lastActivatedAt)}
              >
                {sayAge(now - agent.lastActivatedAt)}
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
            {sayTurn(agent, board.view, now)}
            {agent.turn?.reason === 'budget' && (
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
  if (!agent.turn) return <span>unknown</span>
  const { word, look } = stateWords[agent.turn.reason]
  if (look === null) return <span>{word}</span>
  return look === 'lit' ? <span class="lit">{word}</span> : <StatusShape look={look} word={word} />
}

/** Intervals that the bar shows. */
const intervalsMax = 3

/** How many of its own intervals an agent has been quiet; nothing for one that has no turns. */
const StaleBar: FC<{ agent: Agent; now: number }> = ({ agent, now }) => {
  const { intervalMs, lastActivatedAt, turn } = agent
  if (intervalMs === null) return null
  const isNew = lastActivatedAt === 0
  const share = isNew ? intervalsMax : Math.min(intervalsMax, (now - lastActivatedAt) / intervalMs)
  const isHeld = turn !== null && stateWords[turn.reason].look === 'hot'
  const said = isNew ? 'It never ran' : `${sayAge(now - lastActivatedAt)} since its last turn`
  return (
    <svg
      class={isHeld ? 'stale z' : 'stale'}
      viewBox="0 0 300 14"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${said}, interval ${sayAge(intervalMs)}`}
    >
      <line class="grid" x1="0" x2="300" y1="7" y2="7" />
      <rect class="q" y="3" height="8" width={Math.round(share * 100)} />
      <line x1="100" x2="100" y1="0" y2="14" />
    </svg>
  )
}
