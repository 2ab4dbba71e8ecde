import type { FC } from 'hono/jsx'
import type { RunLogProblem } from '../../agents/contract/agents'
import { titleByState } from '../../hub/activations/activation-labels'
import type { ActivationDetail } from '../../hub/activations/page-queries'
import {
  formatOutcome,
  formatReplyRefusal,
  formatTask,
  isNoticePosted,
} from '../../hub/traces/run-labels'
import type { TraceAccess } from '../../hub/traces/trace-access'
import { listNotes, type TraceView } from '../../hub/traces/trace-view'
import { formatCost, formatCount, formatPlural, formatShare, formatSpan } from '../../shared/format'
import { postPath } from '../../shared/paths'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { ActivationProgress } from './activation-progress'
import { ChangesBlock } from './changes-block'
import { EventList } from './event-list'
import { logProblemLabels } from './log-problem-labels'
import { OpenAsAdmin, type OpeningFormState } from './open-as-admin'
import { PlanBlock } from './plan-block'
import { ReplyBlock, type ReplyBlockProps } from './reply-block'
import { StepTable } from './step-table'
import { HookTable, NoteList, PromptBlock } from './trace-extras'
import { Waterfall } from './waterfall'

export interface ActivationPageProps extends ReplyBlockProps {
  /** Contains only what the viewer may see. */
  trace: TraceView | null
  /** What a program changed in its repository, by attempt. */
  patches: Map<number, string>
  /** Why a stored trace cannot be read; null when it can, or when none is stored. */
  logProblem: RunLogProblem | null
  access: TraceAccess
  /** What a running agent does right now, as text for people. */
  doing: string | null
  /** Whom the run is private to; empty unless the viewer is an admin who has to open it. */
  closedTo: string[]
  opening: OpeningFormState
}

/** Shows one activation: its progress, reply, figures and trace. */
export const ActivationPage: FC<ActivationPageProps> = (props) => {
  const { frame, activation, trace, doing } = props
  const isOpen = activation.state !== 'done'
  const title = titleByState[activation.state](activation.agentName)
  return (
    <Layout frame={frame} title={title} sheet="trace" {...(isOpen ? { scripts: ['follow'] } : {})}>
      <Heading {...props} title={title} />
      {isOpen && (
        <ActivationProgress
          frame={frame}
          activation={activation}
          requesters={props.requesters.map(({ name }) => name)}
          doing={doing}
          seq={trace?.events.length ?? 0}
          view={props.access === 'all' ? 'full' : 'thread'}
        />
      )}
      <div class={isOpen ? 'up5' : undefined}>
        <Figures {...props} />
      </div>
      {props.closedTo.length > 0 && (
        <OpenAsAdmin id={activation.id} owners={props.closedTo} form={props.opening} />
      )}
      <FailureNotice activation={activation} trace={trace} />
      <ReplyBlock {...props} />
      <TraceSections {...props} />
    </Layout>
  )
}

const Heading: FC<ActivationPageProps & { title: string }> = (props) => {
  const { frame, activation, requesters, title } = props
  return (
    <div class="head">
      <div>
        {activation.postId && activation.postTitle && (
          <p class="meta">
            <a href={postPath(activation.postId)}>
              <bdi>{activation.postTitle}</bdi>
            </a>
          </p>
        )}
        <h1 class="up">{title}</h1>
        <div class="by up2">
          <AccountLink name={activation.agentName} kind={activation.agentKind} />
          {requesters.length > 0 && <span>asked by</span>}
          {requesters.map((requester) => (
            <AccountLink {...requester} />
          ))}
          <ActsFor {...props} />
          {requesters.length === 0 && <span>{formatTask(activation.task)}</span>}
          <RelativeTime at={activation.startedAt} now={frame.now} />
          <span>definition {activation.definitionVersion}</span>
          <span>{activation.model}</span>
        </div>
      </div>
    </div>
  )
}

/** Names the accounts whose permissions and budgets the run used, with the roles that they had. */
const ActsFor: FC<ActivationPageProps> = ({ trace }) => {
  const actsFor = trace?.requesters ?? []
  if (actsFor.length === 0) return null
  return (
    <span>on behalf of {actsFor.map(({ name, role }) => `@${name} (${role})`).join(', ')}</span>
  )
}

/** Returns step count and times in milliseconds: from the trace while running, from the row once finished. */
function computeFigures({ activation, trace, frame }: ActivationPageProps) {
  const steps = trace?.steps ?? []
  const sum = (pick: (step: (typeof steps)[number]) => number) =>
    steps.reduce((all, step) => all + pick(step), 0)
  return {
    steps: Math.max(activation.iterations, steps.length),
    time: (activation.finishedAt ?? frame.now) - activation.startedAt,
    model: sum((step) => step.modelMs),
    tools: sum((step) => Math.max(0, ...step.tools.map(({ durationMs }) => durationMs))),
  }
}

/** Returns the usage charged for all model calls, failed calls included. */
const computeSpent = ({ activation, trace }: ActivationPageProps): TraceView['spent'] =>
  activation.state === 'done' || !trace ? activation : trace.spent

const Figures: FC<ActivationPageProps> = (props) => {
  const { activation } = props
  const figures = computeFigures(props)
  const spent = computeSpent(props)
  return (
    <dl class="facts">
      <div>
        <dt>Outcome</dt>
        <dd>
          {activation.state === 'parked' ? 'waiting' : formatOutcome(activation.outcome)}
          <small>{formatPlural(figures.steps, 'step', 'steps')}</small>
        </dd>
      </div>
      <div>
        <dt>Time</dt>
        <dd>
          {formatSpan(figures.time)}
          <small>
            model {formatSpan(figures.model)}, tools {formatSpan(figures.tools)}
          </small>
        </dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>
          {formatCount(spent.inputTokens + spent.outputTokens)}
          <small>
            {formatCount(spent.inputTokens)} in, {formatCount(spent.outputTokens)} out
          </small>
        </dd>
      </div>
      <div>
        <dt>Prompt cache</dt>
        <dd>
          {spent.inputTokens > 0 ? formatShare(spent.cachedTokens / spent.inputTokens) : 'none'}
          <small>{formatCount(spent.cachedTokens)} tokens</small>
        </dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>
          {formatCost(spent.costMicrousd, spent.isPriced, 'trace')}
          <small>{activation.state === 'done' ? 'settled' : 'so far'}</small>
        </dd>
      </div>
    </dl>
  )
}

const FailureNotice: FC<{ activation: ActivationDetail; trace: TraceView | null }> = (props) => {
  const { activation, trace } = props
  const error = trace?.error ?? null
  if (!error && !activation.replyRefusal) return null
  return (
    <div class="wrong up5">
      {error && (
        <>
          <strong>{error.message}</strong>
          <p class="meta">{error.code.toLowerCase().replaceAll('_', ' ')}</p>
        </>
      )}
      {activation.replyRefusal && (
        <>
          <strong>
            The reply was {isNoticePosted(activation.replyRefusal) ? 'withheld' : 'not posted'}.
          </strong>
          <p>{formatReplyRefusal(activation.replyRefusal, activation.limits)}</p>
        </>
      )}
    </div>
  )
}

/** Explains why an activation has no steps to show. */
const NoTrace: FC<ActivationPageProps> = ({ activation, logProblem }) => {
  const isDone = activation.state === 'done'
  if (logProblem) {
    return (
      <div class="empty">
        <p>
          <strong>The trace can’t be read.</strong>
          {logProblemLabels[logProblem]}
          {isDone && ' The outcome, tokens and cost above are complete.'}
        </p>
      </div>
    )
  }
  return (
    <div class="empty">
      <p>
        <strong>{isDone ? 'The trace is no longer stored.' : 'No trace yet.'}</strong>
        {isDone
          ? 'The figures above are complete; the steps were deleted.'
          : 'The first step is being prepared.'}
      </p>
    </div>
  )
}

const TraceSections: FC<ActivationPageProps> = (props) => {
  const { frame, activation, trace, access } = props
  if (!trace) return <NoTrace {...props} />
  return (
    <>
      <PlanBlock plan={trace.plan} />
      <ChangesBlock changes={trace.changes} patches={props.patches} />
      <section class="block">
        <h2>
          Timeline{' '}
          <span class="meta">
            <Swatch kind="model" /> model <Swatch kind="tool" /> tools ·{' '}
            <a href={`/api/v1/activations/${activation.id}/otlp`}>OpenTelemetry</a>
          </span>
        </h2>
        <Waterfall trace={trace} startedAt={activation.startedAt} now={frame.now} />
        {access !== 'all' && (
          <p class="meta up2">
            Prompts and tool results are shown only to admins and the agent’s owner.
          </p>
        )}
      </section>
      {trace.steps.length > 0 && (
        <section class="block">
          <h2>Cost by step</h2>
          <StepTable steps={trace.steps} spent={computeSpent(props)} />
        </section>
      )}
      <HookTable steps={trace.steps} />
      <NoteList notes={listNotes(trace)} startedAt={activation.startedAt} />
      <EventList
        activationId={activation.id}
        events={trace.events}
        startedAt={activation.startedAt}
      />
      <PromptBlock prompt={trace.prompt} />
    </>
  )
}

const Swatch: FC<{ kind: 'model' | 'tool' }> = ({ kind }) => (
  <svg class="sw" viewBox="0 0 11 11" aria-hidden="true">
    <rect class={`k-${kind}`} width="11" height="11" rx="2" />
  </svg>
)
