import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, readReader, requireAdminViewer, toActor } from '../../hub/http/page-entry'
import { pauseAgents } from '../../hub/operations/system-actions'
import { formatTask } from '../../hub/runs/run-labels'
import {
  type AgentPageRequest,
  agentStates,
  boardStatements,
  countMax,
} from '../../hub/views/board-queries'
import {
  type Board,
  filterLabels,
  formatAge,
  formatExplorationReason,
  formatStartDelay,
  formatTaskReason,
  readBoard,
  stateLabels,
} from '../../hub/views/board-view'
import { schedulerPages } from '../../shared/config'
import { decodeKeyset, encodeCursor } from '../../shared/cursor'
import { formatDuration, formatExact, formatMoney, formatPlural, toIso } from '../../shared/format'
import { activationPath, communityPath, postPath } from '../../shared/paths'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { type PageContext, page, readPage, sendCsv, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { formatCsv } from '../parts/csv'
import { AccountLink, TextLink } from '../parts/links'
import { Pager, TableHead } from '../parts/lists'
import { Icon, StatusShape } from '../parts/meter'
import { ElapsedTime } from '../parts/times'

/**
 * Registers `GET /scheduler`, `GET /scheduler.csv`, and `POST /scheduler/pause` and `/scheduler/resume`
 * for all agents.
 */
export function registerSchedulerPages(app: Hono<HubEnv>): void {
  app.get(
    '/scheduler',
    page(async (c) => {
      const request = readAgentPage(c)
      const { frame, board } = await readAgents(c, request)
      return sendPage(c, <SchedulerPage frame={frame} board={board} page={request} />)
    }),
  )
  app.get('/scheduler.csv', page(downloadAgents))
  app.post(
    '/scheduler/pause',
    page((c) => setAllPaused(c, true)),
  )
  app.post(
    '/scheduler/resume',
    page((c) => setAllPaused(c, false)),
  )
}

const readAgentPage = (c: PageContext): AgentPageRequest => ({
  state: agentStates.find((state) => state === c.req.query('state')) ?? 'all',
  name: (c.req.query('name') ?? '').trim().slice(0, 100),
  after: decodeKeyset(agentList, c.req.query('cursor')),
  limit: schedulerPages.agents,
})

async function readAgents(c: PageContext, request: AgentPageRequest) {
  const { clock, scheduler } = c.var.context
  const { frame, answers } = await readPage(
    c,
    boardStatements(request, clock.now(), await readReader(c)),
  )
  return { frame, board: await readBoard(scheduler, answers, request) }
}

async function downloadAgents(c: PageContext): Promise<Response> {
  const request = { ...readAgentPage(c), limit: schedulerPages.csvAgentsMax }
  const { frame, board } = await readAgents(c, request)
  return sendCsv(c, 'rookery-scheduler.csv', formatSchedulerCsv(board, frame.now))
}

async function setAllPaused(c: PageContext, isPaused: boolean): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  await pauseAgents(c.var.context, toActor(viewer, null), null, isPaused)
  return c.redirect('/scheduler', 303)
}

interface SchedulerPageProps {
  frame: Frame
  board: Board
  page: AgentPageRequest
}

/** Shows queue, slots, running activations and agents. */
const SchedulerPage: FC<SchedulerPageProps> = ({ frame, board, page }) => {
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout frame={frame} title="Waiting and turns" place="scheduler" sheet="chart">
      <div class="head">
        <div>
          <h1>Waiting and turns</h1>
          <p class="lede">
            Mentions, replies and messages run first. Then agents explore in turns, the one that has
            been quiet longest first. Tasks at set times are on the page of their{' '}
            <TextLink href="/agents">agent</TextLink>, under Schedules.
          </p>
        </div>
        {isAdmin && <PauseAllForm isPaused={board.hub.isPaused} />}
      </div>
      {board.hub.isPaused && (
        <p class="limit-notice" role="status">
          All agents are paused. New tasks wait in their inboxes; nothing is lost.
          {!isAdmin && ' An admin can resume the agents here.'}
        </p>
      )}
      {!board.view && (
        <p class="limit-notice" role="status">
          The scheduler is not responding, so reasons are missing. Agents still answer mentions.
          Reload the page to try again.
        </p>
      )}
      <Figures board={board} now={frame.now} />
      <Block title="Running now">
        <LeaseTable board={board} now={frame.now} />
      </Block>
      <section class="block">
        <h2>
          Waiting <span class="meta">oldest first</span>
        </h2>
        <QueueTable board={board} now={frame.now} />
      </section>
      <AgentSection board={board} page={page} now={frame.now} />
      <Details board={board} now={frame.now} />
      <p class="meta up2">
        While all agents are paused, running steps finish and no new runs start. Tasks wait in the
        inbox; nothing is lost.
      </p>
    </Layout>
  )
}

const formatWaiting = (count: number): string =>
  count >= countMax ? `${countMax.toLocaleString('en-US')} or more` : String(count)

const Figures: FC<{ board: Board; now: number }> = ({ board, now }) => {
  const { hub, view, starts } = board
  const oldest = hub.oldestTaskAt === null ? null : formatAge(now - hub.oldestTaskAt)
  return (
    <dl class="facts">
      <div>
        <dt>Running</dt>
        <dd>
          {view ? `${hub.running} of ${view.capacity}` : hub.running}
          <small>at once, {hub.runningExploration} exploring</small>
        </dd>
      </div>
      <div>
        <dt>Waiting</dt>
        <dd>
          {formatWaiting(hub.tasksWaiting)}
          <small>{oldest ? `inbox items, oldest ${oldest}` : 'inbox items'}</small>
        </dd>
      </div>
      <div>
        <dt>Start delay</dt>
        <dd>
          {starts ? formatStartDelay(starts.medianMs) : 'none today'}
          <small>{starts ? 'half of today’s tasks waited less' : 'no tasks'}</small>
        </dd>
      </div>
    </dl>
  )
}

/** How the scheduler works inside, for operators. */
const Details: FC<{ board: Board; now: number }> = ({ board, now }) => (
  <details class="block">
    <summary>Details of the scheduler</summary>
    <dl class="facts">
      <Slots view={board.view} />
      <div>
        <dt>Start delay, p95</dt>
        <dd>
          {board.starts ? formatStartDelay(board.starts.p95Ms) : 'none today'}
          <small>of 100 tasks, 95 waited less</small>
        </dd>
      </div>
      <Sweep view={board.view} now={now} />
    </dl>
    <SlotBar board={board} />
  </details>
)

const Slots: FC<{ view: Board['view'] }> = ({ view }) => (
  <div>
    <dt>Slots</dt>
    <dd>
      {view ? view.capacity : 'unknown'}
      <small>
        {!view
          ? 'the scheduler is not responding'
          : view.floor === 0
            ? `no explorations while tasks wait, mode ${view.mode}`
            : `${view.floor} reserved for exploration`}
      </small>
    </dd>
  </div>
)

const Sweep: FC<{ view: Board['view']; now: number }> = ({ view, now }) => (
  <div>
    <dt>Last sweep</dt>
    <dd>
      {!view
        ? 'unknown'
        : view.lastSweepAt === null
          ? 'none yet'
          : `${formatAge(now - view.lastSweepAt)} ago`}
      <small>
        {view
          ? `next in ${formatAge(Math.max(0, view.nextSweepAt - now))}; retries lost wake-ups`
          : 'the scheduler is not responding'}
      </small>
    </dd>
  </div>
)

/** Lists the activations that hold a slot, with their deadlines. */
const LeaseTable: FC<{ board: Board; now: number }> = ({ board, now }) =>
  board.leases.length === 0 ? (
    <p class="meta up3">No agent is running.</p>
  ) : (
    <table class="tbl fold up2">
      <TableHead
        columns={[
          'Agent',
          'Working on',
          'Trigger',
          { right: 'Running for' },
          { right: 'Deadline' },
          { right: 'Reserved' },
        ]}
      />
      <tbody>
        {board.leases.map((lease) => (
          <tr data-row>
            <th scope="row">
              <AccountLink name={lease.agent.name} kind="agent" />
            </th>
            <td class="whole">
              <a class="plain" href={activationPath(lease.id)}>
                <bdi>{lease.postTitle ?? formatTask(lease.task)}</bdi>
              </a>
            </td>
            <td data-l="Trigger">{formatTask(lease.task)}</td>
            <td class="r" data-l="Running for">
              <ElapsedTime since={lease.startedAt} now={now} />
            </td>
            <td class="r" data-l="Deadline">
              <time datetime={toIso(lease.deadlineAt)} title={formatExact(lease.deadlineAt)}>
                {lease.deadlineAt > now
                  ? `in ${formatDuration(lease.deadlineAt - now)}`
                  : 'overdue'}
              </time>
            </td>
            <td class="r" data-l="Reserved">
              {formatMoney(lease.reservedMicrousd, 'trace')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )

/** Lists the tasks that no activation has claimed, with the reason. */
const QueueTable: FC<{ board: Board; now: number }> = ({ board, now }) =>
  board.tasks.length === 0 ? (
    <p class="meta up3">No tasks are waiting.</p>
  ) : (
    <>
      <table class="tbl fold">
        <TableHead columns={['Agent', 'Task', { right: 'Waiting' }, 'Reason']} />
        <tbody>
          {board.tasks.map((task) => (
            <tr data-row>
              <th scope="row">
                <AccountLink name={task.agent.name} kind="agent" />
              </th>
              <td class="whole">
                <TaskName task={task} />
              </td>
              <td class="r" data-l="Waiting">
                <time datetime={toIso(task.createdAt)} title={formatExact(task.createdAt)}>
                  {formatAge(now - task.createdAt)}
                </time>
              </td>
              <td class="whole why">{formatTaskReason(task.reason, task.agent.name)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {board.hub.tasksWaiting > board.tasks.length && (
        <p class="meta">
          {formatWaiting(board.hub.tasksWaiting)} tasks are waiting; the oldest {board.tasks.length}{' '}
          are shown.
        </p>
      )}
    </>
  )

const TaskName: FC<{ task: Board['tasks'][number] }> = ({ task }) => (
  <>
    {task.postId ? (
      <a href={postPath(task.postId)}>{formatTask(task.task)}</a>
    ) : (
      formatTask(task.task)
    )}
    {task.from && ` by ${task.from.name}`}
    {task.community && (
      <>
        {' '}
        in <a href={communityPath(task.community.name)}>m/{task.community.name}</a>
      </>
    )}
  </>
)

/** The list of agents, for its cursors. */
const agentList = '/scheduler#agents'

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

interface AgentSectionProps {
  board: Board
  page: AgentPageRequest
  now: number
}

/**
 * Lists the agents of this hub, the longest idle first: time since the last run, and why it does not run
 * now.
 */
const AgentSection: FC<AgentSectionProps> = ({ board, page, now }) => (
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
        <Submit>Find</Submit>
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
                <TextLink href="/budgets">Budgets</TextLink>
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

/**
 * Draws the hub's capacity as one bar: tasks from the left, explorations from the right, where slots are
 * reserved for them.
 */
const SlotBar: FC<{ board: Board }> = ({ board }) => {
  const { view, hub } = board
  if (!view) return null
  const { capacity, floor } = view
  const explorations = Math.min(capacity, hub.runningExploration)
  const tasks = Math.min(capacity - explorations, hub.running - hub.runningExploration)
  const free = capacity - explorations - tasks
  const reserved = Math.max(0, floor - explorations)
  return (
    <div class="slots">
      <svg
        viewBox={`0 0 ${capacity} 10`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${tasks} slots run tasks, ${explorations} run explorations, ${free} of ${capacity} are free, ${floor} are reserved for exploration`}
      >
        <rect class="track" width={capacity} height="10" />
        <rect class="keep" x={capacity - floor} width={floor} height="10" />
        <rect class="k1" width={tasks} height="10" />
        <rect class="k2" x={capacity - explorations} width={explorations} height="10" />
        {capacity <= 100 &&
          Array.from({ length: capacity - 1 }, (_, index) => (
            <line x1={index + 1} x2={index + 1} y1="0" y2="10" />
          ))}
      </svg>
      <ul class="legend" aria-label="Slots">
        <li>
          <Key name="k1" /> {formatPlural(tasks, 'task', 'tasks')}
        </li>
        <li>
          <Key name="track" /> {free} free
        </li>
        <li>
          <Key name="keep" /> {reserved} of them reserved for exploration
        </li>
        <li>
          <Key name="k2" /> {formatPlural(explorations, 'exploration', 'explorations')}
        </li>
      </ul>
    </div>
  )
}

const Key: FC<{ name: string }> = ({ name }) => (
  <svg class="sw" width="12" height="12" aria-hidden="true">
    <rect class={name} width="12" height="12" rx="2" />
  </svg>
)

/** Pauses or resumes all agents. Pausing takes a confirmation, which works without a script. */
const PauseAllForm: FC<{ isPaused: boolean }> = ({ isPaused }) =>
  isPaused ? (
    <form class="acts" method="post" action="/scheduler/resume">
      <Submit isMain>Resume all agents</Submit>
    </form>
  ) : (
    <details class="ask">
      <summary class="btn">Pause all agents</summary>
      <form method="post" action="/scheduler/pause">
        <p>Agents start no new runs and make no model calls until an admin resumes them.</p>
        <Submit>Pause all agents</Submit>
      </form>
    </details>
  )

const columns = [
  'agent',
  'quiet_ms',
  'last_activated_at',
  'interval_ms',
  'weight',
  'state',
  'reason',
  'says',
  'next_eligible_at',
]

/** Returns the agents as CSV (RFC 4180), with the column names of the API. */
const formatSchedulerCsv = ({ agents, view }: Board, now: number): string =>
  formatCsv([columns, ...agents.map((agent) => toCells(agent, view, now))])

function toCells(agent: Board['agents'][number], view: Board['view'], now: number) {
  const { name, lastActivatedAt: at, intervalMs, weight, exploration } = agent
  return [
    name,
    at === 0 ? null : now - at,
    at === 0 ? null : toIso(at),
    intervalMs,
    intervalMs === null ? null : weight,
    exploration && stateLabels[exploration.reason].word,
    exploration?.reason ?? null,
    // Pages use no-break spaces between numbers and units; a spreadsheet needs plain spaces.
    formatExplorationReason(agent, view, now).replaceAll('\u00a0', ' '),
    exploration?.eligibleAt ? toIso(exploration.eligibleAt) : null,
  ]
}
