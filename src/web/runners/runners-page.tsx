import type { FC } from 'hono/jsx'
import type { RunnerList, RunnerRun, RunnerSummary } from '../../agents/contract/agents'
import type { RunnerKeyRow } from '../../hub/runners/queries'
import { formatPlural } from '../../shared/format'
import { activationPath } from '../../shared/paths'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { StatusShape } from '../parts/meter'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'
import { KeySection, type RunnerKeyFormState } from './key-section'

interface RunnersPageProps {
  frame: Frame
  list: RunnerList
  keys: readonly RunnerKeyRow[]
  form: RunnerKeyFormState
  /** A key that was just created; shown once. */
  created: { label: string; apiKey: string } | null
  /** Origin of the hub. */
  origin: string
}

/** Lists runners with what they run, runs that wait for one, and runner keys. */
export const RunnersPage: FC<RunnersPageProps> = ({ frame, list, ...keys }) => (
  <Layout
    frame={frame}
    title="Runners"
    place="admin"
    sheet="admin"
    {...(keys.created && { scripts: ['copy'] })}
  >
    <AdminTabs here="runners" isAdmin={true} />
    <h1>Runners</h1>
    <p class="lede">
      Machines that run coding agents. They hold no key of a model provider or a repository, and
      they connect to the hub, never the other way round.
    </p>
    <section class="block">
      <h2>
        Runners {list.runners.length > 0 && <span class="meta">{describeSlots(list.runners)}</span>}
      </h2>
      {list.runners.length === 0 ? (
        <NoRunners origin={keys.origin} />
      ) : (
        <RunnerTable runners={list.runners} now={frame.now} />
      )}
    </section>
    {list.waiting.length > 0 && <Waiting waiting={list.waiting} now={frame.now} />}
    <KeySection {...keys} now={frame.now} />
  </Layout>
)

const describeSlots = (runners: readonly RunnerSummary[]): string => {
  const connected = runners.filter(({ isConnected }) => isConnected)
  const slots = connected.reduce((sum, runner) => sum + runner.slots, 0)
  const used = connected.reduce((sum, { runs }) => sum + runs.length, 0)
  return `${connected.length} connected, ${used} of ${formatPlural(slots, 'slot', 'slots')} in use`
}

const NoRunners: FC<{ origin: string }> = ({ origin }) => (
  <div class="empty">
    <p>
      <strong>No runners yet.</strong> Agents of the types claude-code, codex, opencode, goose and
      aider run on them. Create a key below, and start a runner in a clone of the project:
    </p>
    <p class="code up3">ROOKERY_RUNNER_KEY=… npx --no-install rookery runner --hub {origin}</p>
  </div>
)

const RunnerTable: FC<{ runners: readonly RunnerSummary[]; now: number }> = ({ runners, now }) => (
  <table class="tbl fold">
    <TableHead
      columns={['Runner', 'State', 'Programs', 'Runs', 'Last seen', { hidden: 'Actions' }]}
    />
    <tbody>
      {runners.map((runner) => (
        <tr data-row>
          <th scope="row">
            {runner.name}
            <div class="meta">
              {[`version ${runner.version}`, ...runner.labels].join(', ')}
              {!runner.hasSandbox && ', no sandbox'}
            </div>
          </th>
          <td class="nb" data-l="State">
            <State runner={runner} />
          </td>
          <td class="whole">{formatPrograms(runner)}</td>
          <td class="whole">
            <span class="meta nb">
              {runner.runs.length} of {formatPlural(runner.slots, 'slot', 'slots')}
            </span>
            {runner.runs.map((run) => (
              <RunLine run={run} now={now} />
            ))}
          </td>
          <td class="nb" data-l="Last seen">
            <RelativeTime at={runner.lastSeenAt} now={now} />
          </td>
          <td>
            <Actions runner={runner} />
          </td>
        </tr>
      ))}
    </tbody>
    <caption class="vh">Runners by name</caption>
  </table>
)

const formatPrograms = ({ programs }: RunnerSummary): string =>
  programs.map(({ type, version }) => `${type}\u00a0${version}`).join(', ') ||
  'No programs installed'

const State: FC<{ runner: RunnerSummary }> = ({ runner: { isConnected, isDraining } }) => {
  if (!isConnected) return <StatusShape look="crit" word="disconnected" />
  return isDraining ? (
    <StatusShape look="warn" word="draining" />
  ) : (
    <StatusShape look="ok" word="connected" />
  )
}

const RunLine: FC<{ run: RunnerRun; now: number }> = ({ run, now }) => (
  <div>
    <AccountLink name={run.agent} kind="agent" />{' '}
    <a class="ul" href={activationPath(run.activationId)}>
      run
    </a>{' '}
    <span class="meta">
      with {run.program}, since <RelativeTime at={run.since} now={now} />
    </span>
  </div>
)

const Actions: FC<{ runner: RunnerSummary }> = ({ runner: { id, name, ...runner } }) => (
  <div class="acts">
    <form method="post" action="/runners/drain">
      <input type="hidden" name="id" value={id} />
      <input type="hidden" name="is_draining" value={String(!runner.isDraining)} />
      <button class="btn" type="submit">
        {runner.isDraining ? 'Resume' : 'Drain'}
        <span class="vh"> {name}</span>
      </button>
    </form>
    {!runner.isConnected && (
      <form method="post" action="/runners/remove">
        <input type="hidden" name="id" value={id} />
        <button class="btn" type="submit">
          Remove<span class="vh"> {name}</span>
        </button>
      </form>
    )}
  </div>
)

const reasons = {
  busy: 'All suitable runners are in use.',
  nobody: 'No suitable runner is connected.',
} as const

const Waiting: FC<{ waiting: RunnerList['waiting']; now: number }> = ({ waiting, now }) => (
  <section class="block">
    <h2>Waiting for a runner</h2>
    <table class="tbl fold">
      <TableHead columns={['Agent', 'Needs', 'Waiting since', 'Reason']} />
      <tbody>
        {waiting.map((run) => (
          <tr data-row>
            <th scope="row">
              <AccountLink name={run.agent} kind="agent" />{' '}
              <a class="ul" href={activationPath(run.activationId)}>
                run
              </a>
            </th>
            <td data-l="Needs">{[run.program, ...run.runsOn].join(', ')}</td>
            <td class="nb" data-l="Waiting since">
              <RelativeTime at={run.since} now={now} />
            </td>
            <td class="whole why">{reasons[run.reason]}</td>
          </tr>
        ))}
      </tbody>
      <caption class="vh">Runs that wait for a runner, the oldest first</caption>
    </table>
  </section>
)
