import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type { RunnerList, RunnerRun, RunnerSummary } from '../../agents/contract/agents'
import {
  authenticateRunner,
  createRunnerKey,
  drainRunner,
  removeRunner,
  revokeRunnerKey,
  runnerKeyInput,
} from '../../hub/agents/runner-actions'
import { type RunnerKeyRow, selectRunnerKeys } from '../../hub/agents/runner-queries'
import {
  declareEntry,
  type HubEnv,
  httpErrors,
  readCredential,
  requireAdminSender,
  requireViewer,
  toErrorResponse,
} from '../../hub/http/page-entry'
import { upgradeErrors } from '../../hub/live/live-request'
import { formatPlural } from '../../shared/format'
import { activationPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { FormKey, readForm, readFormKey } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { StatusShape } from '../parts/meter'
import { RelativeTime } from '../parts/times'

const path = '/runners'
const emptyForm = (): RunnerKeyFormState => createForm({ label: '' })

/** Registers `/runners`, where admins see and control the machines of coding agents, and the runners' socket. */
export function registerRunnerPages(app: Hono<HubEnv>): void {
  app.get(
    path,
    page((c) => showRunners(c, { form: emptyForm() })),
  )
  app.get('/runners/socket', declareEntry({ rate: 'connect', body: 'none' }, connectRunner))
  app.post('/runners/keys', page(addKey))
  app.post(
    '/runners/keys/revoke',
    page((c) => act(c, (admin, read) => revokeRunnerKey(c.var.context, admin, read('id')))),
  )
  app.post(
    '/runners/drain',
    page((c) =>
      act(c, (admin, read) => {
        const isDraining = read('is_draining') === 'true'
        return drainRunner(c.var.context, admin, read('id'), { is_draining: isDraining })
      }),
    ),
  )
  app.post(
    '/runners/remove',
    page((c) => act(c, (admin, read) => removeRunner(c.var.context, admin, read('id')))),
  )
}

/** Opens the socket of a runner. No other key opens it, and this key opens nothing else. */
async function connectRunner(c: PageContext): Promise<Response> {
  if (c.req.header('upgrade')?.toLowerCase() !== 'websocket') {
    return c.text(upgradeErrors.notWebSocket, 426, { upgrade: 'websocket' })
  }
  try {
    const credential = await readCredential(c)
    const hash = credential === null || credential.isSession ? null : credential.hash
    const { context, origin } = c.var
    const connection = await authenticateRunner(context, hash, origin)
    c.set('accountId', connection.accountId)
    return await context.agents.runners.connect(connection, c.req.raw)
  } catch (error) {
    return toErrorResponse(c, error)
  }
}

async function act(
  c: PageContext,
  change: (admin: { accountId: Admin['id'] }, read: (name: string) => string) => Promise<void>,
): Promise<Response> {
  const admin = await requireAdminSender(c)
  await change({ accountId: admin.id }, await readForm(c))
  return c.redirect(path, 303)
}

type Admin = Awaited<ReturnType<typeof requireAdminSender>>

/** Creates a key and shows it in the response: a redirect would put it into the browser's history. */
async function addKey(c: PageContext): Promise<Response> {
  const { id: accountId, keyId } = await requireAdminSender(c)
  const read = readFormWith(runnerKeyInput, await readForm(c), runnerKeyForm)
  if (!read.isValid) return showRunners(c, { form: read.form, status: 400 })
  try {
    const actor = { accountId, keyId, idempotencyKey: await readFormKey(c) }
    const { answer } = await createRunnerKey(c.var.context, actor, read.value)
    return showRunners(c, { form: emptyForm(), created: answer })
  } catch (error) {
    return showRunners(c, rejectForm(runnerKeyForm, read.form, error))
  }
}

interface Shown {
  form: RunnerKeyFormState
  created?: { label: string; apiKey: string }
  status?: number
}

async function showRunners(c: PageContext, { form, created, status }: Shown): Promise<Response> {
  const { frame, answers } = await readPage(c, { keys: selectRunnerKeys() })
  if (!frame.viewer?.isAdmin) {
    await requireViewer(c, 'read')
    throw httpErrors.adminOnly()
  }
  const list = await c.var.context.agents.runners.list()
  const props = { frame, list, keys: answers.keys, form, created: created ?? null }
  return sendPage(c, <RunnersPage {...props} origin={c.var.origin} />, status)
}

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
const RunnersPage: FC<RunnersPageProps> = ({ frame, list, ...keys }) => (
  <Layout
    frame={frame}
    title="Runners"
    place="runners"
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
    <TextLink href={activationPath(run.activationId)}>run</TextLink>{' '}
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
      <Submit>
        {runner.isDraining ? 'Resume' : 'Drain'}
        <span class="vh"> {name}</span>
      </Submit>
    </form>
    {!runner.isConnected && (
      <form method="post" action="/runners/remove">
        <input type="hidden" name="id" value={id} />
        <Submit>
          Remove<span class="vh"> {name}</span>
        </Submit>
      </form>
    )}
  </div>
)

const reasons = {
  busy: 'All suitable runners are in use.',
  nobody: 'No suitable runner is connected.',
} as const

const Waiting: FC<{ waiting: RunnerList['waiting']; now: number }> = ({ waiting, now }) => (
  <Block title="Waiting for a runner">
    <table class="tbl fold">
      <TableHead columns={['Agent', 'Needs', 'Waiting since', 'Reason']} />
      <tbody>
        {waiting.map((run) => (
          <tr data-row>
            <th scope="row">
              <AccountLink name={run.agent} kind="agent" />{' '}
              <TextLink href={activationPath(run.activationId)}>run</TextLink>
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
  </Block>
)

type RunnerKeyFormState = FormState<'label'>

const runnerKeyForm: FormDefinition<'label'> = {
  rejected: 'The key was not created.',
  fields: { label: { message: 'A name can have at most 100 characters.' } },
}

interface KeySectionProps {
  keys: readonly RunnerKeyRow[]
  form: RunnerKeyFormState
  /** A key that was just created; shown once. */
  created: { label: string; apiKey: string } | null
  /** Origin of the hub. */
  origin: string
  now: number
}

/** Keys of runners, a form for a new one, and how to start a runner with it. */
const KeySection: FC<KeySectionProps> = ({ keys, form, created, origin, now }) => (
  <section class="block" id="keys-of-runners">
    <h2>Keys</h2>
    <p class="lede">
      A runner connects with a key. It opens nothing else. Several runners can use one key, under
      different names.
    </p>
    {created && <CreatedKey {...created} origin={origin} />}
    {keys.length === 0 ? <p class="meta up3">No keys yet.</p> : <KeyTable keys={keys} now={now} />}
    <ErrorSummary problem={form.problem} />
    <form class="form up4" method="post" action="/runners/keys">
      <FormKey />
      <Field
        form={form}
        name="label"
        label="Name of the new key"
        maxlength={100}
        autocomplete="off"
        hint="Such as the machine that it is for."
      />
      <div>
        <Submit isMain>Create key</Submit>
      </div>
    </form>
  </section>
)

const CreatedKey: FC<{ label: string; apiKey: string; origin: string }> = (props) => {
  const { label, apiKey, origin } = props
  return (
    <div role="status">
      <p class="up4">
        <strong>Copy the new key{label && ` "${label}"`} now.</strong> It is shown only once.
      </p>
      <p class="code up3" data-copy="key">
        {apiKey}
      </p>
      <p class="up3">
        Put it into the variable ROOKERY_RUNNER_KEY of the machine, and start a runner there in a
        clone of the project:
      </p>
      <p class="code up3" data-copy="command">
        npx --no-install rookery runner --hub {origin}
      </p>
    </div>
  )
}

const KeyTable: FC<{ keys: readonly RunnerKeyRow[]; now: number }> = ({ keys, now }) => (
  <table class="tbl fold up4">
    <TableHead columns={['Key', 'By', 'Created', 'Last used', { hidden: 'Revoke' }]} />
    <tbody>
      {keys.map((key) => (
        <tr>
          <th scope="row">{key.label || 'Key without a name'}</th>
          <td data-l="By">{key.createdBy.name}</td>
          <td class="nb" data-l="Created">
            <RelativeTime at={key.createdAt} now={now} />
          </td>
          <td class="nb" data-l="Last used">
            {key.lastUsedAt === null ? 'Never' : <RelativeTime at={key.lastUsedAt} now={now} />}
          </td>
          <td>
            <form method="post" action="/runners/keys/revoke">
              <input type="hidden" name="id" value={key.id} />
              <Submit>
                Revoke<span class="vh"> {key.label}</span>
              </Submit>
            </form>
          </td>
        </tr>
      ))}
    </tbody>
    <caption class="vh">Runner keys, newest first</caption>
  </table>
)
