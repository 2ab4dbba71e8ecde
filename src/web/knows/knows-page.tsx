import type { FC } from 'hono/jsx'
import type { AgentKnowledge, KnownFile, SessionFacts } from '../../agents/contract/agents'
import type { SeenAgent } from '../../hub/sessions/agent-view'
import { formatBytes, formatDay, formatPlural } from '../../shared/format'
import { accountPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { DeleteForm } from './delete-form'
import { FactRow } from './fact-row'
import { knowsPath, sessionPath } from './knows-paths'
import { describeSession } from './session-names'
import { PrivacyNote, ShareForm } from './share-form'

export interface KnowsPageProps {
  frame: Frame
  agent: SeenAgent
  /** Null when the agent did not respond. */
  known: AgentKnowledge | null
  problem: FormProblem | null
}

/** Shows what an agent knows: facts, open tasks, sessions and files that the viewer may see. */
export const KnowsPage: FC<KnowsPageProps> = ({ frame, agent, known, problem }) => {
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
              <button type="submit" class="btn" name="change" value="close_task">
                Close<span class="vh"> task {task.id}</span>
              </button>
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
