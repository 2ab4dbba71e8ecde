import type { Hono } from 'hono'
import type { SessionSnapshot } from '../../agents/contract/agents'
import { grantErrors } from '../../hub/grants/errors'
import {
  type HubEnv,
  listDetails,
  readReader,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import { changeKnowledge, knowledgeChange } from '../../hub/knowledge/correct-actions'
import { changePrivateItem, privateChange, privateItem } from '../../hub/knowledge/private-actions'
import {
  type Compaction,
  compactSession,
  findSeenAgent,
  requireReadable,
  resetSession,
  restoreSession,
} from '../../hub/sessions/actions'
import { type SeenAgent, toSeenAgent, viewStatements } from '../../hub/sessions/agent-view'
import { sessionErrors } from '../../hub/sessions/errors'
import {
  presentMessage,
  presentSessionFacts,
  snapshotInput,
  toSnapshot,
} from '../../hub/sessions/snapshot'
import { privateMemoryLimits } from '../../shared/config'
import type { FormProblem } from '../form/form-state'
import { toProblem } from '../form/to-problem'
import type { Frame } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { KnowsPage } from './knows-page'
import { knowsPath, sessionPath } from './knows-paths'
import { SessionPage } from './session-page'

/** Registers `/a/:name/knows`, its sessions, and their forms. */
export function registerKnowsPages(app: Hono<HubEnv>): void {
  app.get(
    '/a/:name/knows',
    page((c) => showKnowledge(c, null)),
  )
  app.post('/a/:name/knows', page(correct))
  app.post('/a/:name/private', page(changePrivate))
  app.get(
    '/a/:name/knows/:session',
    page((c) => showSession(c, null)),
  )
  app.post('/a/:name/knows/:session', page(changeSession))
}

const nameOf = (c: PageContext): string => c.req.param('name') ?? ''
const sessionOf = (c: PageContext): string => c.req.param('session') ?? ''

/** Reads the agent with what the viewer sees of what it knows, in one round trip. */
async function readSeen(c: PageContext): Promise<{ frame: Frame; agent: SeenAgent }> {
  const { frame, answers } = await readPage(c, viewStatements(nameOf(c), await readReader(c)))
  if (!frame.viewer) throw grantErrors.signIn()
  return { frame, agent: await toSeenAgent(c.var.context, frame.viewer, answers) }
}

async function showKnowledge(
  c: PageContext,
  problem: FormProblem | null,
  status = 200,
): Promise<Response> {
  const { frame, agent } = await readSeen(c)
  const before = Number(c.req.query('before')) || null
  const after = c.req.query('after') ?? null
  const { shownOnPage: limit } = privateMemoryLimits
  const known = await c.var.context.agents.knowledge
    .list(agent.id, agent.view, { before, after, limit })
    .catch(() => null)
  return sendPage(c, <KnowsPage {...{ frame, agent, known, problem }} />, status)
}

async function correct(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const fields = ['change', 'id', 'text', 'path', 'is_shared'] as const
  const sent = Object.fromEntries(
    fields.flatMap((field) => (read(field) === '' ? [] : [[field, read(field)]])),
  )
  const input = knowledgeChange.parse(sent)
  const caller = { viewer, reader: await readReader(c) }
  try {
    await changeKnowledge(c.var.context, caller, nameOf(c), input)
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 409) throw error
    return showKnowledge(c, problem, status)
  }
  const part =
    input.change === 'close_task' ? 'tasks' : input.change === 'delete_file' ? 'files' : 'facts'
  return c.redirect(`${knowsPath(nameOf(c))}#${part}`, 303)
}

/** Shares, makes private again or deletes what the agent keeps for the viewer. */
async function changePrivate(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const kind = read('kind')
  const item = privateItem.parse(
    kind === 'file' ? { kind, path: read('path') } : { kind, id: read('id') },
  )
  const change = privateChange.parse(read('change'))
  await changePrivateItem(c.var.context, toActor(viewer, null), nameOf(c), item, change)
  return c.redirect(`${knowsPath(nameOf(c))}#${item.kind === 'fact' ? 'facts' : 'files'}`, 303)
}

const formatSnapshot = ({ messages, ...facts }: SessionSnapshot): string =>
  JSON.stringify({ ...presentSessionFacts(facts), messages: messages.map(presentMessage) }, null, 2)

async function showSession(
  c: PageContext,
  problem: FormProblem | null,
  { status = 200, compaction = null }: { status?: number; compaction?: Compaction | null } = {},
): Promise<Response> {
  const { frame, agent } = await readSeen(c)
  const session = await c.var.context.agents.sessions.read(agent.id, sessionOf(c))
  requireReadable(agent, session)
  if (!session) throw sessionErrors.notFound()
  const snapshot = formatSnapshot(session)
  const props = { frame, agent, session, snapshot, problem, compaction }
  return sendPage(c, <SessionPage {...props} />, status)
}

async function changeSession(c: PageContext): Promise<Response> {
  const caller = { viewer: await requireViewer(c, 'write'), reader: await readReader(c) }
  const read = await readForm(c)
  const { context } = c.var
  const [name, id] = [nameOf(c), sessionOf(c)]
  const agent = await findSeenAgent(context, caller, name)
  requireReadable(agent, await context.agents.sessions.read(agent.id, id))
  const action = read('do')
  if (action === 'reset') {
    await resetSession(context, caller, agent, id)
    return c.redirect(`${knowsPath(name)}#sessions`, 303)
  }
  if (action === 'compact') {
    const compaction = await compactSession(context, caller, agent, id)
    // What was done is not refused because the key cannot read the page of it.
    if (!caller.viewer.scopes.includes('read')) return c.redirect(sessionPath(name, id), 303)
    return showSession(c, null, { compaction })
  }
  if (action === 'restore') {
    const parsed = readSnapshot(read('snapshot'))
    if (!parsed.success) return showSession(c, toSnapshotProblem(parsed), { status: 400 })
    const snapshot = toSnapshot(id, parsed.data, context.clock.now())
    await restoreSession(context, caller, agent, snapshot, async (present) =>
      requireReadable(agent, present),
    )
  }
  return c.redirect(sessionPath(name, id), 303)
}

function readSnapshot(text: string): ReturnType<typeof snapshotInput.safeParse> {
  try {
    return snapshotInput.safeParse(JSON.parse(text))
  } catch {
    return snapshotInput.safeParse(null)
  }
}

const toSnapshotProblem = ({
  error,
}: Extract<ReturnType<typeof readSnapshot>, { success: false }>): FormProblem => ({
  message: 'The session was not restored.',
  hint: listDetails(error, '')
    .slice(0, 3)
    .map(({ path, message }) => `${path || 'Snapshot'}: ${message}.`)
    .join(' '),
})
