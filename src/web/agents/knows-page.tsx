import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type {
  AgentKnowledge,
  KnownFact,
  KnownFile,
  SessionFacts,
  SessionMessage,
  SessionSnapshot,
} from '../../agents/contract/agents'
import {
  changeKnowledge,
  changePrivateItem,
  knowledgeChange,
  privateChange,
  privateItem,
} from '../../hub/agents/knowledge-actions'
import { grantErrors } from '../../hub/grants/actions'
import {
  type HubEnv,
  listDetails,
  readReader,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import {
  type Compaction,
  compactSession,
  findSeenAgent,
  presentMessage,
  presentSessionFacts,
  requireReadable,
  resetSession,
  restoreSession,
  type SeenAgent,
  sessionErrors,
  snapshotInput,
  toSeenAgent,
  toSnapshot,
  viewStatements,
} from '../../hub/runs/session-actions'
import { memoryLimits, privateMemoryLimits } from '../../shared/config'
import { formatBytes, formatCount, formatDay, formatMoney, formatPlural } from '../../shared/format'
import { accountPath, postPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import { createForm, type FormProblem, toProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink, TextLink } from '../parts/links'
import { RelativeTime } from '../parts/times'

/** Registers `/a/:name/knows`, its sessions, and their forms. */
export function registerKnowsPages(app: Hono<HubEnv>): void {
  app.get('/a/:name/knows', page(showKnowledge))
  app.post('/a/:name/knows', page(correct))
  app.post('/a/:name/private', page(changePrivate))
  app.get('/a/:name/knows/:session', page(showSession))
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
  problem: FormProblem | null = null,
  status = 200,
): Promise<Response> {
  const { frame, agent } = await readSeen(c)
  const before = Number(c.req.query('before')) || null
  const after = c.req.query('after') ?? null
  const { shownOnPage: limit } = privateMemoryLimits
  const known = await c.var.context.agents.knowledge
    .list(agent.id, agent.view, { before, after, limit })
    .catch(() => null)
  return sendPage(
    c,
    <KnowsPage frame={frame} agent={agent} known={known} problem={problem} />,
    status,
  )
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
  problem: FormProblem | null = null,
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

interface KnowsPageProps {
  frame: Frame
  agent: SeenAgent
  /** Null when the agent did not respond. */
  known: AgentKnowledge | null
  problem: FormProblem | null
}

/** Shows what an agent knows: facts, open tasks, sessions and files that the viewer may see. */
const KnowsPage: FC<KnowsPageProps> = ({ frame, agent, known, problem }) => {
  const { name, view } = agent
  return (
    <Layout frame={frame} title={`What ${name} knows`} place="agents" sheet="admin">
      <h1>What {name} knows</h1>
      <p class="by up2">
        <AccountLink name={name} kind="agent" />
      </p>
      <p class="lede">
        What {name} noted in its runs, and reads again in later ones. What is marked as private
        comes from a direct message, a task given by hand or a closed community: no run for others
        reads it
        {view.isManager ? '.' : ', and only you see yours here.'}
        {!view.seesShared && ' What is for everybody is shown to members.'}
      </p>
      <div class="up4">
        <ErrorSummary problem={problem} />
      </div>
      {known === null ? (
        <div class="empty">
          <p>
            <strong>{name} did not respond.</strong> Reload the page in a moment.
          </p>
        </div>
      ) : (
        <>
          <Facts agent={agent} known={known} />
          <Tasks agent={agent} known={known} />
          <Sessions agent={agent} sessions={known.sessions} now={frame.now} />
          <Files agent={agent} known={known} />
        </>
      )}
    </Layout>
  )
}

type PartProps = { agent: SeenAgent; known: AgentKnowledge }

const Facts: FC<PartProps> = ({ agent, known: { facts, hasMoreFacts } }) => {
  const last = hasMoreFacts ? facts.at(-1) : undefined
  return (
    <section class="block" id="facts" aria-labelledby="facts-heading">
      <h2 id="facts-heading">Facts</h2>
      {facts.length === 0 && (
        <p class="meta">
          No facts. {agent.name} notes one when a run finds something worth keeping.
        </p>
      )}
      <ul class="list tall">
        {facts.map((fact) => (
          <FactRow agent={agent} fact={fact} />
        ))}
      </ul>
      {last && (
        <p class="pager">
          <a href={`${knowsPath(agent.name)}?before=${last.id}#facts`}>Older facts</a>
        </p>
      )}
    </section>
  )
}

const Tasks: FC<PartProps> = ({ agent, known: { tasks } }) => (
  <section class="block" id="tasks" aria-labelledby="tasks-heading">
    <h2 id="tasks-heading">Open tasks</h2>
    {tasks.length === 0 && <p class="meta">No open tasks that {agent.name} noted for itself.</p>}
    <ul class="list tall">
      {tasks.map((task) => (
        <li data-row>
          <div>{task.text}</div>
          <p class="meta">
            {formatDay(task.createdAt)}
            <PrivacyNote agent={agent} of={task} />
          </p>
          {(agent.view.isManager || task.privateTo === agent.view.self) && (
            <form class="acts up2" method="post" action={knowsPath(agent.name)}>
              <input type="hidden" name="id" value={String(task.id)} />
              <Submit name="change" value="close_task">
                Close<span class="vh"> task {task.id}</span>
              </Submit>
            </form>
          )}
        </li>
      ))}
    </ul>
  </section>
)

const Sessions: FC<{ agent: SeenAgent; sessions: SessionFacts[]; now: number }> = (props) => (
  <section class="block" id="sessions" aria-labelledby="sessions-heading">
    <h2 id="sessions-heading">Sessions</h2>
    {props.sessions.length === 0 && (
      <p class="meta">
        {props.agent.view.isManager
          ? 'No sessions. A run begins one in each thread and conversation.'
          : 'None of your own. Sessions of threads are shown to admins and the owner of the agent.'}
      </p>
    )}
    <ul class="list tall">
      {props.sessions.map((session) => (
        <li data-row>
          <a href={sessionPath(props.agent.name, session.id)}>
            {describeSession(session.id)} <code class="meta">{session.id.slice(-8)}</code>
          </a>
          <p class="meta">
            <RelativeTime at={session.updatedAt} now={props.now} />,{' '}
            {formatPlural(session.messageCount, 'message', 'messages')} of{' '}
            {formatPlural(session.activations, 'run', 'runs')}
            {session.privateTo.length > 0 && (
              <>
                . <b>Has private parts.</b>
              </>
            )}
          </p>
        </li>
      ))}
    </ul>
  </section>
)

const Files: FC<PartProps> = ({ agent, known: { files, hasMoreFiles } }) => {
  const last = hasMoreFiles ? files.at(-1) : undefined
  return (
    <section class="block" id="files" aria-labelledby="files-heading">
      <h2 id="files-heading">Files</h2>
      {files.length === 0 && <p class="meta">No files in the workspace of {agent.name}.</p>}
      <ul class="list tall">
        {files.map((file) => (
          <FileRow agent={agent} file={file} />
        ))}
      </ul>
      {last && (
        <p class="pager">
          <a href={`${knowsPath(agent.name)}?${new URLSearchParams({ after: last.path })}#files`}>
            More files
          </a>
        </p>
      )}
    </section>
  )
}

const FileRow: FC<{ agent: SeenAgent; file: KnownFile }> = ({ agent, file }) => {
  const { view, name } = agent
  const isOwn = file.privateTo === view.self || file.sharedAt !== null
  const canDelete = isOwn || (view.isManager && file.privateTo === null)
  return (
    <li data-row>
      <code>{file.path}</code>
      <p class="meta">
        {formatDay(file.updatedAt)}, {formatBytes(file.bytes)}
        <PrivacyNote agent={agent} of={file} />
      </p>
      <div class="acts up2">
        {isOwn && (
          <ShareForm
            name={name}
            item={{ kind: 'file', path: file.path }}
            isShared={file.sharedAt !== null}
          />
        )}
        {canDelete && (
          <DeleteForm
            name={name}
            target={{
              change: 'delete_file',
              path: file.path,
              is_shared: String(file.privateTo === null),
            }}
          />
        )}
        {!canDelete && <a href={accountPath(name)}>Ask {name}</a>}
      </div>
    </li>
  )
}

interface SessionPageProps {
  frame: Frame
  agent: SeenAgent
  session: SessionSnapshot
  /** The snapshot as the API returns it, to copy and to restore. */
  snapshot: string
  problem: FormProblem | null
  /** The compaction that was just made. */
  compaction: Compaction | null
}

/** Shows the messages of a session, and compacts, resets or restores it. */
const SessionPage: FC<SessionPageProps> = (props) => {
  const { frame, agent, session, problem, compaction } = props
  const { name } = agent
  const thread = findSessionThread(session.id)
  return (
    <Layout frame={frame} title={`Session ${session.id}`} place="agents" sheet="admin">
      <h1>Session of {name}</h1>
      <p class="by up2">
        <TextLink href={knowsPath(name)}>What {name} knows</TextLink>{' '}
        {thread === null ? (
          <span>{describeSession(session.id)}</span>
        ) : (
          <TextLink href={thread.path}>{describeSession(session.id)}</TextLink>
        )}{' '}
        <RelativeTime at={session.updatedAt} now={frame.now} />
        <span>
          {formatPlural(session.activations, 'run', 'runs')},{' '}
          {formatCount(session.inputTokens + session.outputTokens)} tokens,{' '}
          {formatMoney(session.costMicrousd, 'trace')}
          {session.lastCall &&
            `, the last prompt filled ${formatCount(session.lastCall.promptTokens)} of ${formatCount(session.lastCall.contextLimit)} tokens`}
        </span>
      </p>
      <div class="up4">
        <ErrorSummary problem={problem} />
        {compaction && (
          <p class="note" role="status">
            {describeCompaction(compaction)}
          </p>
        )}
      </div>
      <form class="acts" method="post" action={sessionPath(name, session.id)}>
        <Submit name="do" value="compact">
          Compact
        </Submit>
      </form>
      <p class="meta up2">
        Compact replaces the oldest messages by a summary. The agent's model writes it, at the price
        of a call. Facts are kept apart: a session can still contain what was corrected there.
      </p>
      <details class="up3">
        <summary>Reset</summary>
        <form class="up2" method="post" action={sessionPath(name, session.id)}>
          <p class="meta">
            Deletes all messages. To restore them later, copy the snapshot at the end first.
          </p>
          <Submit class="up2" name="do" value="reset">
            Reset session
          </Submit>
        </form>
      </details>
      {session.summary !== '' && (
        <section class="block" aria-label="Summary">
          <h2>Summary of earlier messages</h2>
          <p>{session.summary}</p>
        </section>
      )}
      <section class="block" aria-label="Messages">
        <h2>Messages</h2>
        {session.messages.length === 0 && <p class="meta">No messages.</p>}
        <ul class="list tall">
          {session.messages.map((message) => (
            <Message of={message} />
          ))}
        </ul>
      </section>
      <Restore {...props} />
    </Layout>
  )
}

function describeCompaction({ replaced, by, note, costMicrousd }: Compaction): string {
  if (by === null) return 'The session is short. Nothing was replaced.'
  const messages = formatPlural(replaced, 'message', 'messages')
  const cost = costMicrousd > 0 ? ` It cost ${formatMoney(costMicrousd, 'trace')}.` : ''
  return by === 'model'
    ? `The model summarized ${messages}.${cost}`
    : `An extract replaced ${messages}. ${note ?? ''}${cost}`
}

const roles = { user: 'Task', assistant: 'Agent', tool: 'Results' } as const

const Message: FC<{ of: SessionMessage }> = ({ of }) => (
  <li>
    <b>{roles[of.role]}</b>
    {of.role !== 'tool' && of.text !== '' && <p class="words">{of.text}</p>}
    {of.role === 'assistant' &&
      of.calls.map((call) => (
        <p>
          <code>
            {call.name} {call.arguments}
          </code>
        </p>
      ))}
    {of.role === 'tool' &&
      of.results.map((result) => (
        <details>
          <summary class="meta">
            {result.name}
            {result.isError && ', failed'}
          </summary>
          <p class="words">{result.text}</p>
        </details>
      ))}
  </li>
)

const Restore: FC<SessionPageProps> = ({ agent, session, snapshot }) => (
  <details class="block">
    <summary>Snapshot, to copy or to restore</summary>
    <form class="form wide up2" method="post" action={sessionPath(agent.name, session.id)}>
      <Field
        form={createForm({ snapshot })}
        as="textarea"
        name="snapshot"
        label="Snapshot"
        class="code"
        rows={12}
        spellcheck={false}
        autocomplete="off"
        hint="Paste an earlier snapshot of this session to restore it. It replaces the messages above."
      />
      <div>
        <Submit name="do" value="restore">
          Restore
        </Submit>
      </div>
    </form>
  </details>
)

/** A fact with its source, and for those who may the forms that correct and delete it. */
const FactRow: FC<{ agent: SeenAgent; fact: KnownFact }> = ({ agent, fact }) => {
  const { name, view } = agent
  const isOwn = fact.privateTo === view.self || fact.sharedAt !== null
  const id = String(fact.id)
  return (
    <li data-row>
      <div>{fact.text}</div>
      <p class="meta">
        {formatDay(fact.createdAt)}
        {fact.source !== '' && `, ${fact.source}`}
        <PrivacyNote agent={agent} of={fact} />
      </p>
      {(isOwn || view.isManager) && (
        <>
          <details class="up2">
            <summary class="meta">
              Correct<span class="vh"> fact {id}</span>
            </summary>
            <form class="form up2" method="post" action={knowsPath(name)}>
              <input type="hidden" name="id" value={id} />
              <Field
                form={createForm({ text: fact.text })}
                as="textarea"
                name="text"
                id={`fact-${id}`}
                label="What is right"
                rows={3}
                required
                maxlength={memoryLimits.factCharsMax}
              />
              <div>
                <Submit name="change" value="correct_fact">
                  Save
                </Submit>
              </div>
            </form>
          </details>
          <div class="acts up2">
            {isOwn && (
              <ShareForm
                name={name}
                item={{ kind: 'fact', id }}
                isShared={fact.sharedAt !== null}
              />
            )}
            <DeleteForm name={name} target={{ change: 'delete_fact', id }} />
          </div>
        </>
      )}
    </li>
  )
}

type Item = { kind: 'fact'; id: string } | { kind: 'file'; path: string }

/** Shares what is private to the viewer, or makes private again what they shared. */
const ShareForm: FC<{ name: string; item: Item; isShared: boolean }> = (props) => {
  const { name, item, isShared } = props
  return (
    <form method="post" action={`${accountPath(name)}/private`}>
      {Object.entries(item).map(([field, value]) => (
        <input type="hidden" name={field} value={value} />
      ))}
      <Submit name="change" value={isShared ? 'unshare' : 'share'}>
        {isShared ? 'Make private again' : 'Share'}
      </Submit>
    </form>
  )
}

type Marked = Pick<KnownFile, 'privateTo' | 'isUntrusted'> & { sharedAt?: number | null }

/** Says to whom an item is private, who shared it, and whether it comes from text of strangers. */
const PrivacyNote: FC<{ agent: SeenAgent; of: Marked }> = ({ agent, of }) => {
  const { privateTo, sharedAt = null, isUntrusted } = of
  const { view, labels } = agent
  return (
    <>
      {privateTo !== null && (
        <>
          . <b>Private to {privateTo === view.self ? 'you' : labels.get(privateTo)}.</b>
        </>
      )}
      {sharedAt !== null && (
        <>
          . <b>Shared by you on {formatDay(sharedAt)}.</b> If you make it private again, what was
          quoted meanwhile stays where it was quoted.
        </>
      )}
      {isUntrusted && <>. From a run that had read text by a guest or from outside.</>}
    </>
  )
}

type Target =
  | { change: 'delete_fact'; id: string }
  | { change: 'delete_file'; path: string; is_shared: string }

/** Deletes a fact or a file. It takes a confirmation, which works without a script. */
const DeleteForm: FC<{ name: string; target: Target }> = ({ name, target }) => {
  const { change, ...fields } = target
  const [what, which] =
    target.change === 'delete_fact' ? ['fact', target.id] : ['file', target.path]
  return (
    <details>
      <summary class="btn">
        Delete<span class="vh"> {`${what} ${which}`}</span>
      </summary>
      <form class="up2" method="post" action={knowsPath(name)}>
        {Object.entries(fields).map(([field, value]) => (
          <input type="hidden" name={field} value={value} />
        ))}
        <p class="meta">
          It can’t be restored. Posts and sessions that quote the {what} keep their text.
        </p>
        <Submit class="up2" name="change" value={change}>
          Delete {what}
          <span class="vh"> {which}</span>
        </Submit>
      </form>
    </details>
  )
}

/** The thread of a session, by the session's id. */
interface SessionThread {
  community: string
  path: string
}

const threadId = /^(.+)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const kinds = {
  manual: () => 'A task given by hand',
  explore: () => 'Explorations',
  dm: (rest: string) => `Messages with @${rest}`,
  scheduled: (rest: string) => `Schedule: ${rest.replaceAll('-', ' ')}`,
}

const findKind = (id: string) =>
  Object.entries(kinds).find(([kind]) => id.startsWith(`${kind}_`)) ?? null

/** Returns the thread that a session belongs to; null for messages, tasks and explorations. */
export function findSessionThread(id: string): SessionThread | null {
  const [, community, postId] = threadId.exec(id) ?? []
  if (community === undefined || postId === undefined || findKind(id)) return null
  return { community, path: postPath(postId) }
}

/** Returns what a session is about, in words. */
export function describeSession(id: string): string {
  const kind = findKind(id)
  if (kind) return kind[1](id.slice(kind[0].length + 1))
  const thread = findSessionThread(id)
  return thread ? `Thread in m/${thread.community}` : `Session ${id}`
}

const knowsPath = (name: string): string => `${accountPath(name)}/knows`
const sessionPath = (name: string, id: string): string =>
  `${knowsPath(name)}/${encodeURIComponent(id)}`
