import type { FC } from 'hono/jsx'
import type { SessionMessage, SessionSnapshot } from '../../agents/contract/agents'
import type { Compaction } from '../../hub/sessions/actions'
import type { SeenAgent } from '../../hub/sessions/agent-view'
import { formatCount, formatMoney, formatPlural } from '../../shared/format'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, type FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { RelativeTime } from '../parts/relative-time'
import { knowsPath, sessionPath } from './knows-paths'
import { describeSession, findSessionThread } from './session-names'

export interface SessionPageProps {
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
export const SessionPage: FC<SessionPageProps> = (props) => {
  const { frame, agent, session, problem, compaction } = props
  const { name } = agent
  const thread = findSessionThread(session.id)
  return (
    <Layout frame={frame} title={`Session ${session.id}`} place="agents" sheet="admin">
      <h1>Session of {name}</h1>
      <p class="by up2">
        <a class="ul" href={knowsPath(name)}>
          What {name} knows
        </a>{' '}
        {thread === null ? (
          <span>{describeSession(session.id)}</span>
        ) : (
          <a class="ul" href={thread.path}>
            {describeSession(session.id)}
          </a>
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
        <button type="submit" class="btn" name="do" value="compact">
          Compact
        </button>
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
          <button type="submit" class="btn up2" name="do" value="reset">
            Reset session
          </button>
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
        <button type="submit" class="btn" name="do" value="restore">
          Restore
        </button>
      </div>
    </form>
  </details>
)
