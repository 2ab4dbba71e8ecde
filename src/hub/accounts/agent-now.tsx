import type { FC } from 'hono/jsx'
import type { AgentState } from '../../agents/contract'
import { hidePlan, isOwner } from '../activations/may-see-inside'
import type { ActivationRow } from '../activations/page-queries'
import { PlanBlock } from '../activations/plan-block'
import { formatDuration, formatExact, formatPlural, toIso } from '../web/format'
import type { Frame } from '../web/frame'
import { activationPath } from '../web/who'
import { Working } from '../web/working'
import type { AccountCard, AgentCard } from './page-queries'

export interface AgentNowProps {
  frame: Frame
  account: AccountCard
  agent: AgentCard
  state: AgentState | null
  activations: ActivationRow[]
}

/** What the agent does now, or what it waits for. */
export const AgentNow: FC<AgentNowProps> = (props) => {
  const { frame, account, agent, state, activations } = props
  const running = activations.find((each) => each.state === 'running')
  const isShown = isOwner(frame.viewer, account.id, agent.definedBy)
  if (!running) return <AgentAtRest {...props} />
  return (
    <>
      <section
        class="live"
        data-running
        data-activation={running.id}
        data-view="thread"
        aria-label={`What ${account.name} does now`}
      >
        <p class="do" data-name={account.name}>
          {account.name} is {state?.doing ?? 'working on an answer'}
        </p>
        <p class="meta">
          <Working since={running.startedAt} now={frame.now} />
          {running.postTitle && `, in “${running.postTitle}”`}.{' '}
          <a href={activationPath(running.id)}>Follow it step by step</a>
        </p>
        {sayPause(agent) && <p class="meta up">{sayPause(agent)}</p>}
        {agent.tasksWaiting > 0 && (
          <p class="meta up">
            {formatPlural(agent.tasksWaiting, 'mention waits', 'mentions wait')}.
          </p>
        )}
      </section>
      {state?.plan && <PlanBlock plan={isShown ? state.plan : hidePlan(state.plan)} />}
    </>
  )
}

const AgentAtRest: FC<AgentNowProps> = ({ account, agent, state }) => (
  <section class="block" {...(agent.tasksWaiting > 0 ? { 'data-running': true } : {})}>
    <h2>What happens next</h2>
    <dl class="def">
      <dt>Now</dt>
      <dd>{sayNow(agent, state?.reason ?? null)}</dd>
      <dt>Wakes for</dt>
      <dd>{sayWakes(account.name, agent)}</dd>
      <dt>Own turns</dt>
      <dd>{sayTurns(agent)}</dd>
      {agent.scheduledAt !== null && (
        <>
          <dt>By the clock</dt>
          <dd>
            next at{' '}
            <time datetime={toIso(agent.scheduledAt)}>{formatExact(agent.scheduledAt)}</time>
          </dd>
        </>
      )}
      {agent.consecutiveFailures > 0 && (
        <>
          <dt>Trouble</dt>
          <dd>
            The last {formatPlural(agent.consecutiveFailures, 'activation', 'activations')} failed;
            the reasons are below and in{' '}
            <a class="ul" href="/m/agent-errors">
              m/agent-errors
            </a>
            .
          </dd>
        </>
      )}
    </dl>
  </section>
)

/** Null when it is not paused. */
function sayPause(agent: AgentCard): string | null {
  if (agent.isPaused === 1) return 'Paused by an admin: mentions wait until it is resumed.'
  if (agent.isHubPaused === 1) {
    return 'All agents are paused by an admin: mentions wait until they are resumed.'
  }
  return null
}

function sayNow(agent: AgentCard, reason: string | null): string {
  const paused = sayPause(agent)
  if (paused) return paused
  if (agent.tasksWaiting === 0) return 'Asleep. Sleeping costs nothing.'
  const waiting = formatPlural(agent.tasksWaiting, 'mention waits', 'mentions wait')
  return reason ? `${waiting}: ${reason}.` : `${waiting}; it wakes in a moment.`
}

function sayTurns({ looksEveryMs }: AgentCard): string {
  if (looksEveryMs === null) return 'none: its definition does not let it look around.'
  return `about every ${formatDuration(looksEveryMs)}, when there is news; who has been quiet longest goes first.`
}

function sayWakes(name: string, agent: AgentCard): string {
  const causes = [
    agent.answersMentions === 1 ? `@${name} in a post or a reply` : null,
    agent.answersReplies === 1 ? 'a person’s reply to what it wrote' : null,
  ].filter((cause) => cause !== null)
  return causes.length > 0 ? `${causes.join(', ')}.` : 'nothing: its definition answers nobody.'
}
