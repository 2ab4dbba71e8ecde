import type { FC } from 'hono/jsx'
import { isPosted, sayOutcome, sayRefusal, sayTask } from '../web/agent-words'
import { Ago } from '../web/ago'
import { formatCost, formatCount, formatPlural, formatShare, formatSpan } from '../web/format'
import type { Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { Prose } from '../web/prose'
import { postPath, Who } from '../web/who'
import { ActivationNow } from './activation-now'
import { EventList } from './event-list'
import type { Insight } from './may-see-inside'
import type { ActivationDetail, Asker } from './page-queries'
import { PlanBlock } from './plan-block'
import { StepTable } from './step-table'
import { HookTable, NoteList, PromptBlock } from './trace-extras'
import { notesOf, type TraceView } from './trace-view'
import { Waterfall } from './waterfall'

export interface ActivationPageProps {
  frame: Frame
  activation: ActivationDetail
  askers: Asker[]
  /** Without what the viewer may not see. */
  trace: TraceView | null
  insight: Insight
  /** What a running one does now, in words. */
  doing: string | null
}

const namesOf = (askers: Asker[]): ReadonlySet<string> =>
  new Set(askers.map(({ name }) => name.toLowerCase()))

export const ActivationPage: FC<ActivationPageProps> = (props) => {
  const { frame, activation, trace, doing } = props
  const isOpen = activation.state !== 'done'
  const title = titleOf(activation)
  return (
    <Layout frame={frame} title={title} sheet="trace" {...(isOpen ? { scripts: ['follow'] } : {})}>
      <Heading {...props} title={title} />
      {isOpen && (
        <ActivationNow
          frame={frame}
          activation={activation}
          askers={props.askers.map(({ name }) => name)}
          doing={doing}
          seq={trace?.events.length ?? 0}
          view={props.insight === 'all' ? 'full' : 'thread'}
        />
      )}
      <div class={isOpen ? 'up5' : undefined}>
        <Figures {...props} />
      </div>
      <WentWrong activation={activation} trace={trace} />
      {activation.reply !== null && (
        <section class="block">
          <h2>
            What it answered{' '}
            {activation.postId && (
              <a
                class="meta"
                href={`${postPath(activation.postId)}#c-${activation.replyCommentId}`}
              >
                in the thread
              </a>
            )}
          </h2>
          <div class="up3">
            <Prose text={activation.reply} known={namesOf(props.askers)} heading={3} />
          </div>
        </section>
      )}
      <TraceSections {...props} />
    </Layout>
  )
}

const titleOf = ({ state, agentName }: ActivationDetail): string =>
  ({
    running: `${agentName} is working`,
    parked: `${agentName} waits for approval`,
    done: `Why ${agentName} answered this way`,
  })[state]

const Heading: FC<ActivationPageProps & { title: string }> = (props) => {
  const { frame, activation, askers, title } = props
  return (
    <div class="head">
      <div>
        {activation.postId && activation.postTitle && (
          <p class="meta">
            <a href={postPath(activation.postId)}>{activation.postTitle}</a>
          </p>
        )}
        <h1 class="up">{title}</h1>
        <div class="by up2">
          <Who name={activation.agentName} kind={activation.agentKind} />
          {askers.length > 0 && <span>asked by</span>}
          {askers.map((asker) => (
            <Who {...asker} />
          ))}
          {askers.length === 0 && <span>{sayTask(activation.task)}</span>}
          <Ago at={activation.startedAt} now={frame.now} />
          <span>definition {activation.definitionVersion}</span>
          <span>{activation.model}</span>
        </div>
      </div>
    </div>
  )
}

/** A running one has its figures in the trace, a finished one in its row. */
function figuresOf({ activation, trace, frame }: ActivationPageProps) {
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

/** What all its calls were charged, with and without an answer. */
const spentOf = ({ activation, trace }: ActivationPageProps): TraceView['spent'] =>
  activation.state === 'done' || !trace
    ? { ...activation, isPriced: activation.isPriced === 1 }
    : trace.spent

const Figures: FC<ActivationPageProps> = (props) => {
  const { activation } = props
  const figures = figuresOf(props)
  const spent = spentOf(props)
  return (
    <dl class="facts">
      <div>
        <dt>Outcome</dt>
        <dd>
          {activation.state === 'parked' ? 'waiting' : sayOutcome(activation.outcome)}
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
        <dt>From the prompt cache</dt>
        <dd>
          {spent.inputTokens > 0 ? formatShare(spent.cachedTokens / spent.inputTokens) : 'nothing'}
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

const WentWrong: FC<{ activation: ActivationDetail; trace: TraceView | null }> = (props) => {
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
            Its answer was {isPosted(activation.replyRefusal) ? 'kept back' : 'not posted'}.
          </strong>
          <p>{sayRefusal(activation.replyRefusal)}</p>
        </>
      )}
    </div>
  )
}

const TraceSections: FC<ActivationPageProps> = (props) => {
  const { frame, activation, trace, insight } = props
  if (!trace) {
    return (
      <div class="empty">
        <p>
          <strong>There is no trace {activation.state === 'done' ? 'any more' : 'yet'}.</strong>
          {activation.state === 'done'
            ? 'Its figures above are complete; the steps were not kept.'
            : 'The first step is being prepared.'}
        </p>
      </div>
    )
  }
  return (
    <>
      <PlanBlock plan={trace.plan} />
      <section class="block">
        <h2>
          Where the time went{' '}
          <span class="meta">
            <Swatch kind="model" /> model <Swatch kind="tool" /> tools ·{' '}
            <a href={`/api/v1/activations/${activation.id}/otlp`}>OpenTelemetry</a>
          </span>
        </h2>
        <Waterfall trace={trace} startedAt={activation.startedAt} now={frame.now} />
        {insight !== 'all' && (
          <p class="meta up2">
            What it was told and what tools answered is shown to admins and the agent’s owner.
          </p>
        )}
      </section>
      {trace.steps.length > 0 && (
        <section class="block">
          <h2>Cost by step</h2>
          <StepTable steps={trace.steps} spent={spentOf(props)} />
        </section>
      )}
      <HookTable steps={trace.steps} />
      <NoteList notes={notesOf(trace)} startedAt={activation.startedAt} />
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
