import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { readFiles, restoreDefinition } from '../../hub/agents/definition-actions'
import { selectVersions, type VersionRow } from '../../hub/agents/definition-queries'
import {
  canCreateAgents,
  canEditAgent,
  definitionErrors,
  diffFiles,
  type FileDiff,
  OtherHeldError,
  requireEditor,
} from '../../hub/agents/definition-rules'
import { grantErrors } from '../../hub/grants/actions'
import { type HubEnv, readReader, requireViewer, toAppError } from '../../hub/http/page-entry'
import { formatTask } from '../../hub/runs/run-labels'
import { AppError } from '../../shared/errors'
import { formatCost } from '../../shared/format'
import { accountPath, activationPath, commentPath } from '../../shared/paths'
import { ErrorSummary, Submit } from '../form/fields'
import type { FormProblem } from '../form/form-state'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink, TextLink } from '../parts/links'
import { Pager, TableHead } from '../parts/lists'
import { StatusShape } from '../parts/meter'
import { RelativeTime } from '../parts/times'
import { editPath, exportPath, heldPath, newAgentPath, versionsPath } from './agent-paths'
import { type AgentRow, agentsShown, costDays, selectAgentList } from './agent-queries'
import { FileDiffs, registerEditPages } from './edit-page'
import { registerHeldPage } from './held-page'

/** Registers `/agents`, `/agents/new`, and `/a/:name/edit` and `/a/:name/versions` with their forms. */
export function registerAgentPages(app: Hono<HubEnv>): void {
  app.get('/agents', page(showAgents))
  registerEditPages(app)
  registerHeldPage(app)
  app.get('/a/:name/versions', page(showVersions))
  app.post('/a/:name/versions', page(restore))
  app.get('/a/:name/versions/:file', page(sendExport))
}

async function showAgents(c: PageContext): Promise<Response> {
  const after = (c.req.query('after') ?? '').slice(0, 100)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    agents: selectAgentList(after, now, await readReader(c)),
  })
  const rows = answers.agents.slice(0, agentsShown)
  const next = answers.agents.length > agentsShown ? (rows.at(-1)?.name ?? null) : null
  return sendPage(c, <AgentsPage frame={frame} rows={rows} next={next} />)
}

const nameOf = (c: PageContext): string => c.req.param('name') ?? ''

/** Reads the versions of the agent of the path. @throws NOT_FOUND, and for viewers who are neither admins nor the owner */
async function readVersions(c: PageContext): Promise<{ frame: Frame; rows: VersionRow[] }> {
  const { frame, answers } = await readPage(c, { versions: selectVersions({ name: nameOf(c) }) })
  if (!frame.viewer) throw grantErrors.signIn()
  requireEditor(frame.viewer, answers.versions[0]?.ownerId ?? null)
  if (answers.versions.length === 0) throw definitionErrors.notFound()
  return { frame, rows: answers.versions }
}

async function showVersions(
  c: PageContext,
  problem: FormProblem | null = null,
  status = 200,
): Promise<Response> {
  const name = nameOf(c)
  const { frame, rows } = await readVersions(c)
  const at = rows.findIndex(({ version }) => String(version) === c.req.query('show'))
  const [row, previous] = at < 0 ? [] : rows.slice(at, at + 2)
  const shown = row && {
    version: row.version,
    diffs: diffFiles(
      previous ? await readFiles(c.var.context, name, previous) : {},
      await readFiles(c.var.context, name, row),
    ),
  }
  const restored = problem === null ? Number(c.req.query('restored')) || null : null
  const props = { frame, name, rows, shown: shown ?? null, restored, problem }
  return sendPage(c, <VersionsPage {...props} />, status)
}

async function restore(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const name = nameOf(c)
  try {
    const { held } = await restoreDefinition(c.var.context, viewer, name, {
      version: Number(read('version')) || 0,
      baseVersion: Number(read('base')) || 0,
    })
    if (held) return c.redirect(heldPath(name), 303)
  } catch (error) {
    const { code, message, hint } = toAppError(error)
    if (code !== 'CONFLICT') throw error
    const isHeld = error instanceof OtherHeldError
    const problem = {
      message: isHeld ? message : 'Somebody else saved a version since you opened this page.',
      hint: isHeld ? hint : 'Look at its changes, then restore again.',
    }
    return showVersions(c, problem, 409)
  }
  return c.redirect(`${versionsPath(name)}?restored=${Number(read('version')) || 0}`, 303)
}

/** Sends the folder of a version as a tar archive, as `npm run agents -- push` reads it. */
async function sendExport(c: PageContext): Promise<Response> {
  const name = nameOf(c)
  const { rows } = await readVersions(c)
  const [, version = ''] = /^(\d+)\.tar$/.exec(c.req.param('file') ?? '') ?? []
  const row = rows.find((each) => String(each.version) === version)
  if (!row) throw definitionErrors.noVersion(name, Number(version) || 0)
  const files = await readFiles(c.var.context, name, row)
  const inFolder = Object.entries(files).map(([path, text]) => [`${name}/${path}`, text])
  const archive = createTar(Object.fromEntries(inFolder), row.createdAt)
  return new Response(archive, {
    headers: {
      'content-type': 'application/x-tar',
      'content-disposition': `attachment; filename="${name}-${row.version}.tar"`,
      'x-content-type-options': 'nosniff',
    },
  })
}

interface AgentsPageProps {
  frame: Frame
  rows: AgentRow[]
  /** Name of the last agent when there is another page. */
  next: string | null
}

/** Lists the agents of this hub: state, model, cost and last answer. */
const AgentsPage: FC<AgentsPageProps> = ({ frame, rows, next }) => {
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
              <AccountLink name={row.name} kind="agent" avatarId={row.avatarId} />
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
                  <TextLink href={editPath(row.name)}>
                    Edit<span class="vh"> {row.name}</span>
                  </TextLink>
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

/** The newest answer of an agent; of one that nobody asked, its newest run. */
const Answer: FC<{ row: AgentRow; now: number }> = ({ row, now }) => {
  const { lastAnswer, ownRun } = row
  if (lastAnswer) {
    return (
      <>
        <a href={commentPath(lastAnswer.postId, lastAnswer.id)}>
          <bdi>{lastAnswer.title}</bdi>
        </a>{' '}
        <span class="meta">
          <RelativeTime at={lastAnswer.at} now={now} />
        </span>
      </>
    )
  }
  if (row.isWaiting || !ownRun) return <span class="meta">no answer yet</span>
  return (
    <span class="meta">
      <a href={activationPath(ownRun.id)}>run by {formatTask(ownRun.task)}</a>{' '}
      <RelativeTime at={ownRun.at} now={now} />
    </span>
  )
}

interface VersionsPageProps {
  frame: Frame
  name: string
  rows: VersionRow[]
  /** The version whose changes are shown, with those from the version before it. */
  shown: { version: number; diffs: FileDiff[] } | null
  /** The version whose files the viewer has just made the current ones. */
  restored: number | null
  problem: FormProblem | null
}

/** Lists the versions of a definition, newest first, with the changes of one. */
const VersionsPage: FC<VersionsPageProps> = (props) => {
  const { frame, name, rows, shown, restored, problem } = props
  const current = rows[0]?.version ?? 0
  return (
    <Layout frame={frame} title={`Versions of ${name}`} place="agents" sheet="admin">
      <h1>Versions of {name}</h1>
      <p class="by up2">
        <AccountLink name={name} kind="agent" /> <TextLink href={editPath(name)}>Edit</TextLink>
      </p>
      <div class="up4">
        <ErrorSummary problem={problem} />
        {restored !== null && (
          <p class="note" role="status">
            Version {current} has the files of version {restored}. New runs use it.
          </p>
        )}
      </div>
      {shown && (
        <section class="block" id="changes" aria-label={`Changes of version ${shown.version}`}>
          <h2>Changes of version {shown.version}</h2>
          <FileDiffs
            of={shown.diffs}
            none="The files are the same as those of the version before."
          />
        </section>
      )}
      <table class="tbl fold up4">
        <TableHead columns={['Version', 'Saved', 'By', 'Actions']} />
        <tbody>
          {rows.map((row) => (
            <Version name={name} row={row} current={current} now={frame.now} />
          ))}
        </tbody>
      </table>
    </Layout>
  )
}

interface VersionProps {
  name: string
  row: VersionRow
  current: number
  now: number
}

const Version: FC<VersionProps> = ({ name, row: { version, ...row }, current, now }) => (
  <tr data-row>
    <th scope="row" class="num">
      {version}
      {version === current && <span class="meta"> current</span>}
    </th>
    <td data-l="Saved">
      <RelativeTime at={row.createdAt} now={now} />
    </td>
    <td data-l="By">
      {row.createdBy === null ? (
        'unknown'
      ) : (
        <a href={accountPath(row.createdBy.name)}>{row.createdBy.name}</a>
      )}
    </td>
    <td class="whole">
      <form class="acts" method="post" action={versionsPath(name)}>
        <TextLink href={`${versionsPath(name)}?show=${version}#changes`}>
          Changes<span class="vh"> of version {version}</span>
        </TextLink>
        <a class="ul" href={exportPath(name, version)} download>
          Export<span class="vh"> version {version}</span>
        </a>
        {version !== current && (
          <>
            <input type="hidden" name="base" value={String(current)} />
            <Submit name="version" value={String(version)}>
              Restore<span class="vh"> version {version}</span>
            </Submit>
          </>
        )}
      </form>
    </td>
  </tr>
)

const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
const PREFIX_BYTES_MAX = 155

/**
 * Returns a tar archive (POSIX ustar) of text files.
 *
 * @param modifiedAt time of all files, in milliseconds since the Unix epoch
 * @throws for a path that is longer than the format allows
 */
function createTar(files: Record<string, string>, modifiedAt: number): Blob {
  const encoder = new TextEncoder()
  const parts = Object.entries(files).flatMap(([path, text]) => {
    const content = encoder.encode(text)
    const padding = new Uint8Array((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES)
    return [createHeader(path, content.length, modifiedAt), content, padding]
  })
  return new Blob([...parts, new Uint8Array(2 * BLOCK_BYTES)], { type: 'application/x-tar' })
}

function createHeader(path: string, bytes: number, modifiedAt: number): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  const header = new Uint8Array(BLOCK_BYTES)
  const write = (offset: number, text: string) => header.set(encoder.encode(text), offset)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  const { prefix, name } = splitPath(path)
  write(0, name)
  write(345, prefix)
  write(100, octal(0o644, 7))
  write(108, octal(0, 7))
  write(116, octal(0, 7))
  write(124, octal(bytes, 11))
  write(136, octal(Math.floor(modifiedAt / 1000), 11))
  // The checksum counts its own field as spaces.
  write(148, ' '.repeat(8))
  write(156, '0')
  write(257, 'ustar\u000000')
  const sum = header.reduce((total, byte) => total + byte, 0)
  write(148, `${octal(sum, 6)} `)
  return header
}

/** Splits a path at a slash into the two fields of a header. @throws VALIDATION when they are too short */
function splitPath(path: string): { prefix: string; name: string } {
  const encoder = new TextEncoder()
  const lengthOf = (text: string) => encoder.encode(text).length
  if (lengthOf(path) <= NAME_BYTES_MAX) return { prefix: '', name: path }
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)]
    if (lengthOf(name) <= NAME_BYTES_MAX && lengthOf(prefix) <= PREFIX_BYTES_MAX) {
      return { prefix, name }
    }
  }
  throw new AppError('VALIDATION', `The path ${path} is too long for an archive.`, {
    hint: 'Read the files with GET /api/v1/agents/:name/definition.',
  })
}
