import type { FC } from 'hono/jsx'
import { isPosted, sayOutcome, sayRefusal, sayTask } from '../web/agent-words'
import { Ago } from '../web/ago'
import { formatCost, formatCount, formatPlural, formatShare, formatSpan } from '../web/format'
import type { Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { Prose } from '../web/prose'
import { StopForm } from '../web/stop-form'
import { postPath, Who } from '../web/who'
import { Working } from '../web/working'
import type { ActivationDetail, Asker } from './page-queries'
import { StepTable } from './step-table'
import { formatClock, PromptBlock } from './trace-extras'
import type { TraceView } from './trace-view'
import { Waterfall } from './waterfall'

export interface ActivationPageProps {
  frame: Frame
  activation: ActivationDetail
  askers: Asker[]
  trace: TraceView | null
  /** What a running one does now, in words. */
  doing: string | null
}

const namesOf = (askers: Asker[]): ReadonlySet<string> =>
  new Set(askers.map(({ name }) => name.toLowerCase()))

export const ActivationPage: FC<ActivationPageProps> = (props) => {
  const { frame, activation, trace, doing } = props
  const isRunning = activation.state === 'running'
  const title = isRunning
    ? `${activation.agentName} is working`
    : `Why ${activation.agentName} answered this way`
  return (
    <Layout frame={frame} title={title} {...(isRunning ? { scripts: ['follow'] } : {})}>
      <Heading {...props} title={title} />
      {isRunning && (
        <section class="live" data-running aria-label="Now">
          <p class="do">
            {activation.agentName} is {doing ?? 'working on an answer'}
          </p>
          <p class="meta">
            for <Working since={activation.startedAt} now={frame.now} />. What is known so far is
            below.
            <noscript> Reload the page to see more.</noscript>
          </p>
          <StopForm
            viewer={frame.viewer}
            activation={activation}
            askers={props.askers.map(({ name }) => name)}
          />
        </section>
      )}
      <div class={isRunning ? 'up5' : undefined}>
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
  const isDone = activation.state === 'done'
  return {
    steps: Math.max(activation.iterations, steps.length),
    time: (activation.finishedAt ?? frame.now) - activation.startedAt,
    model: sum((step) => step.modelMs),
    tools: sum((step) => Math.max(0, ...step.tools.map(({ durationMs }) => durationMs))),
    input: isDone ? activation.inputTokens : sum((step) => step.inputTokens),
    cached: isDone ? activation.cachedTokens : sum((step) => step.cachedTokens),
    output: isDone ? activation.outputTokens : sum((step) => step.outputTokens),
    cost: isDone ? activation.costMicrousd : sum((step) => step.costMicrousd),
    isPriced: isDone ? activation.isPriced === 1 : steps.every((step) => step.isPriced),
  }
}

const Figures: FC<ActivationPageProps> = (props) => {
  const { activation } = props
  const figures = figuresOf(props)
  return (
    <dl class="facts">
      <div>
        <dt>Outcome</dt>
        <dd>
          {sayOutcome(activation.outcome)}
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
          {formatCount(figures.input + figures.output)}
          <small>
            {formatCount(figures.input)} in, {formatCount(figures.output)} out
          </small>
        </dd>
      </div>
      <div>
        <dt>From the prompt cache</dt>
        <dd>
          {figures.input > 0 ? formatShare(figures.cached / figures.input) : 'nothing'}
          <small>{formatCount(figures.cached)} tokens</small>
        </dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>
          {formatCost(figures.cost, figures.isPriced, 'trace')}
          <small>{activation.state === 'running' ? 'so far' : 'settled'}</small>
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

const TraceSections: FC<ActivationPageProps> = ({ frame, activation, trace }) => {
  if (!trace) {
    return (
      <div class="empty">
        <p>
          <strong>There is no trace {activation.state === 'running' ? 'yet' : 'any more'}.</strong>
          {activation.state === 'running'
            ? 'The first step is being prepared.'
            : 'Its figures above are complete; the steps were not kept.'}
        </p>
      </div>
    )
  }
  return (
    <>
      <section class="block">
        <h2>
          Where the time went{' '}
          <span class="meta">
            <Swatch kind="model" /> model <Swatch kind="tool" /> tools
          </span>
        </h2>
        <Waterfall trace={trace} startedAt={activation.startedAt} now={frame.now} />
      </section>
      {trace.steps.length > 0 && (
        <section class="block">
          <h2>Cost by step</h2>
          <StepTable steps={trace.steps} />
        </section>
      )}
      {trace.notes.length > 0 && (
        <section class="block">
          <h2>Notes</h2>
          <ul class="list">
            {trace.notes.map((note) => (
              <li>
                <span>{note.text}</span>
                <span class="r">{formatClock(note.at - activation.startedAt)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <PromptBlock prompt={trace.prompt} />
    </>
  )
}

const Swatch: FC<{ kind: 'model' | 'tool' }> = ({ kind }) => (
  <svg class="sw" viewBox="0 0 11 11" aria-hidden="true">
    <rect class={`k-${kind}`} width="11" height="11" rx="2" />
  </svg>
)
