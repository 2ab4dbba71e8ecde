import type { FC } from 'hono/jsx'
import { sayTask } from '../web/agent-words'
import { formatDuration, formatExact, formatMoney, formatPlural, toIso } from '../web/format'
import type { Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { activationPath, communityPath, postPath, Who } from '../web/who'
import { Working } from '../web/working'
import { AgentSection } from './agent-section'
import { PauseAll } from './pause-all'
import { type AgentPage, countMax } from './queries'
import type { Board } from './read-board'
import { SlotBar } from './slot-bar'
import { sayAge, sayStart, sayTaskReason } from './words'

export interface SchedulerPageProps {
  frame: Frame
  board: Board
  page: AgentPage
}

export const SchedulerPage: FC<SchedulerPageProps> = ({ frame, board, page }) => {
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout frame={frame} title="Scheduler" place="scheduler" sheet="chart">
      <div class="head">
        <div>
          <h1>Scheduler</h1>
          <p class="lede">
            Mentions, replies and messages go first. With what is left, the agent that has waited
            longest takes a turn of its own.
          </p>
        </div>
        {isAdmin && <PauseAll isPaused={board.hub.isPaused === 1} />}
      </div>
      {board.hub.isPaused === 1 && (
        <p class="brake" role="status">
          All agents are paused. What is asked of them waits in their inboxes; nothing is lost.
          {!isAdmin && ' An admin can resume them here.'}
        </p>
      )}
      {!board.view && (
        <p class="brake" role="status">
          The scheduler does not answer, so reasons are missing. Mentions do not pass it: they are
          answered all the same.
        </p>
      )}
      <Figures board={board} now={frame.now} />
      <section class="block">
        <h2>Slots {board.view && <span class="meta">{sayKept(board.view)}</span>}</h2>
        <SlotBar board={board} />
        <LeaseTable board={board} now={frame.now} />
      </section>
      <section class="block">
        <h2>
          Queue <span class="meta">the oldest first</span>
        </h2>
        <QueueTable board={board} now={frame.now} />
      </section>
      <AgentSection board={board} page={page} now={frame.now} />
      <p class="meta up2">
        Pausing all lets running work finish its step, starts nothing new and loses nothing: the
        inbox waits.
      </p>
    </Layout>
  )
}

const sayKept = ({ floor, capacity, mode }: NonNullable<Board['view']>): string =>
  floor === 0
    ? `no own turns while tasks wait, mode ${mode}`
    : `${floor} of ${capacity} are kept for own turns, whatever the inbox holds`

const sayWaiting = (count: number): string =>
  count >= countMax ? `${countMax.toLocaleString('en-US')} and more` : String(count)

const Figures: FC<{ board: Board; now: number }> = ({ board, now }) => {
  const { hub, view, starts } = board
  const oldest = hub.oldestTaskAt === null ? null : sayAge(now - hub.oldestTaskAt)
  return (
    <dl class="facts">
      <div>
        <dt>At work</dt>
        <dd>
          {view ? `${hub.running} of ${view.capacity}` : hub.running}
          <small>slots, {formatPlural(hub.runningExploration, 'own turn', 'own turns')}</small>
        </dd>
      </div>
      <div>
        <dt>Waiting</dt>
        <dd>
          {sayWaiting(hub.tasksWaiting)}
          <small>{oldest ? `inbox items, oldest ${oldest}` : 'inbox items'}</small>
        </dd>
      </div>
      <div>
        <dt>From mention to start</dt>
        <dd>
          {starts ? sayStart(starts.medianMs) : 'none today'}
          <small>
            {starts ? `median lately, ${sayStart(starts.p95Ms)} at p95` : 'nothing was asked'}
          </small>
        </dd>
      </div>
      <Sweep view={view} now={now} />
    </dl>
  )
}

const Sweep: FC<{ view: Board['view']; now: number }> = ({ view, now }) => (
  <div>
    <dt>Last sweep</dt>
    <dd>
      {!view
        ? 'unknown'
        : view.lastSweepAt === null
          ? 'none yet'
          : `${sayAge(now - view.lastSweepAt)} ago`}
      <small>
        {view
          ? `next in ${sayAge(Math.max(0, view.nextSweepAt - now))}; it finds what got lost`
          : 'the scheduler does not answer'}
      </small>
    </dd>
  </div>
)

/** The activations that hold a slot, and how long they may. */
const LeaseTable: FC<{ board: Board; now: number }> = ({ board, now }) =>
  board.leases.length === 0 ? (
    <p class="meta up3">No agent is at work. That costs nothing.</p>
  ) : (
    <table class="tbl fold up2">
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">Works on</th>
          <th scope="col">Why</th>
          <th scope="col" class="r">
            Since
          </th>
          <th scope="col" class="r">
            At the latest until
          </th>
          <th scope="col" class="r">
            Reserved
          </th>
        </tr>
      </thead>
      <tbody>
        {board.leases.map((lease) => (
          <tr data-row>
            <th scope="row">
              <Who name={lease.agentName} kind="agent" />
            </th>
            <td class="whole">
              <a class="plain" href={activationPath(lease.id)}>
                {lease.postTitle ?? sayTask(lease.task)}
              </a>
            </td>
            <td data-l="Why">{sayTask(lease.task)}</td>
            <td class="r" data-l="Since">
              <Working since={lease.startedAt} now={now} />
            </td>
            <td class="r" data-l="Until">
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

/** Tasks that nobody has begun, and why. */
const QueueTable: FC<{ board: Board; now: number }> = ({ board, now }) =>
  board.tasks.length === 0 ? (
    <p class="meta up3">Nothing waits: what was asked has been begun.</p>
  ) : (
    <>
      <table class="tbl fold">
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Task</th>
            <th scope="col" class="r">
              Waiting
            </th>
            <th scope="col">Why it waits</th>
          </tr>
        </thead>
        <tbody>
          {board.tasks.map((task) => (
            <tr data-row>
              <th scope="row">
                <Who name={task.agentName} kind="agent" />
              </th>
              <td class="whole">
                <TaskName task={task} />
              </td>
              <td class="r" data-l="Waiting">
                <time datetime={toIso(task.createdAt)} title={formatExact(task.createdAt)}>
                  {sayAge(now - task.createdAt)}
                </time>
              </td>
              <td class="whole why">{sayTaskReason(task.why, task.agentName)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {board.hub.tasksWaiting > board.tasks.length && (
        <p class="meta">
          {sayWaiting(board.hub.tasksWaiting)} wait in all; these are the oldest{' '}
          {board.tasks.length}.
        </p>
      )}
    </>
  )

const TaskName: FC<{ task: Board['tasks'][number] }> = ({ task }) => (
  <>
    {task.postId ? <a href={postPath(task.postId)}>{sayTask(task.task)}</a> : sayTask(task.task)}
    {task.fromName && ` by ${task.fromName}`}
    {task.community && (
      <>
        {' '}
        in <a href={communityPath(task.community)}>m/{task.community}</a>
      </>
    )}
  </>
)
