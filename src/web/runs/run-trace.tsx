import type { FC } from 'hono/jsx'
import type { RunLogProblem } from '../../agents/contract/agents'
import {
  type Axis,
  computeAxis,
  computeStepEnd,
  type EventView,
  formatStep,
  formatToolName,
  type Note,
  type StepView,
  type ToolView,
  type TraceView,
} from '../../hub/rules/traces'
import { formatEvent } from '../../hub/runs/run-labels'
import {
  formatBytes,
  formatCost,
  formatCount,
  formatPlural,
  formatShare,
  formatSpan,
} from '../../shared/format'
import { Block } from '../parts/block'
import { TableHead } from '../parts/lists'

/** Draws the timeline: one bar per step, below it the model call and each tool call, on one axis. */
export const Waterfall: FC<{ trace: TraceView; startedAt: number; now: number }> = (props) => {
  const { trace, startedAt, now } = props
  const last = Math.max(startedAt + 1, ...trace.steps.map(computeStepEnd))
  const end = trace.finishedAt ?? Math.max(last, now)
  const axis = computeAxis(Math.max(end, last) - startedAt)
  return (
    <div class="trace">
      <div class="tr hd">
        <span>Step</span>
        <span class="ticks" aria-hidden="true">
          {axis.marks.map((mark) => (
            <span>{formatMark(mark)}</span>
          ))}
        </span>
        <span class="n">Time</span>
        <span class="n tok">Tokens, size</span>
        <span class="n">Cost</span>
      </div>
      <ol>
        {trace.steps.map((step) => (
          <StepRows step={step} startedAt={startedAt} axis={axis} />
        ))}
      </ol>
    </div>
  )
}

const formatMark = (ms: number): string =>
  ms === 0 ? '0' : ms < 1_000 ? `${ms}\u00a0ms` : `${ms / 1_000}\u00a0s`

interface LaneProps {
  axis: Axis
  from: number
  ms: number
  kind: 'step' | 'model' | 'tool' | 'bad'
}

/** Draws a bar on the axis. The drawing is stretched; strokes keep their width. */
const Lane: FC<LaneProps> = ({ axis, from, ms, kind }) => {
  const percent = (value: number) => Math.max(0, Math.min(100, (value / axis.end) * 100))
  const x = percent(from)
  const width = Math.max(0.4, Math.min(100 - x, percent(ms)))
  return (
    <svg class="lane" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
      {axis.marks.map((mark) => (
        <line x1={percent(mark).toFixed(2)} x2={percent(mark).toFixed(2)} y1="0" y2="14" />
      ))}
      <rect class={`k-${kind}`} x={x.toFixed(2)} y="2" width={width.toFixed(2)} height="10" />
    </svg>
  )
}

const StepRows: FC<{ step: StepView; startedAt: number; axis: Axis }> = (props) => {
  const { step, startedAt, axis } = props
  const from = step.startedAt - startedAt
  return (
    <>
      <li>
        <div class="tr step">
          <span>
            {step.step}. {formatStep(step)}
          </span>
          <Lane axis={axis} from={from} ms={computeStepEnd(step) - step.startedAt} kind="step" />
          <span class="n">{formatSpan(computeStepEnd(step) - step.startedAt)}</span>
          <span class="n tok">{formatCount(step.inputTokens + step.outputTokens)}</span>
          <span class="n">{formatCost(step.costMicrousd, step.isPriced, 'trace')}</span>
        </div>
      </li>
      <ModelRow step={step} from={from} axis={axis} />
      {step.tools.map((tool) => (
        <ToolRow tool={tool} startedAt={startedAt} axis={axis} step={step.step} />
      ))}
    </>
  )
}

const ModelRow: FC<{ step: StepView; from: number; axis: Axis }> = ({ step, from, axis }) => {
  const row = (
    <div class="tr">
      <span>
        model
        {step.retries > 0 && `, ${step.retries} retried`}
        {step.isEstimated && ', estimated'}
      </span>
      <Lane axis={axis} from={from} ms={step.modelMs} kind="model" />
      <span class="n">{formatSpan(step.modelMs)}</span>
      <span class="n tok">{step.finishReason}</span>
      <span class="n" />
    </div>
  )
  if (!step.text && !step.reasoning) return <li>{row}</li>
  return (
    <li>
      <details id={`step-${step.step}-model`}>
        <summary>{row}</summary>
        <div class="io">
          {step.reasoning && <Excerpt title="Reasoning" text={step.reasoning} />}
          {step.text && <Excerpt title="Output" text={step.text} />}
        </div>
      </details>
    </li>
  )
}

interface ToolRowProps {
  tool: ToolView
  startedAt: number
  axis: Axis
  step: number
}

const ToolRow: FC<ToolRowProps> = (props) => {
  const { tool, step } = props
  // arguments and results are empty for a viewer who may not see them
  if (!tool.arguments && !tool.result) {
    return (
      <li>
        <ToolBar {...props} />
      </li>
    )
  }
  return (
    <li>
      <details id={`step-${step}-${tool.callId}`}>
        <summary>
          <ToolBar {...props} />
        </summary>
        <div class="io two">
          <div>
            <Excerpt title="Arguments as executed" text={indentJson(tool.arguments)} />
            <p class="meta">
              {tool.grant ? (
                <>
                  grant <code>{tool.grant}</code>
                </>
              ) : (
                'no grant was checked'
              )}
            </p>
          </div>
          <div>
            <Excerpt
              title={
                tool.isError
                  ? 'Error returned to the model'
                  : `Result, ${formatBytes(tool.resultBytes)}`
              }
              text={indentJson(tool.result)}
            />
            <PolicyLink result={tool.result} />
          </div>
        </div>
      </details>
    </li>
  )
}

/** Links a denied call to the policy rule that denied it. */
const PolicyLink: FC<{ result: string }> = ({ result }) => {
  const place = /^Error: Missing grant .* (\/policy\/[\w%.~-]+#(?:allowed|denied))$/s.exec(
    result,
  )?.[1]
  return place === undefined ? null : (
    <p class="meta">
      <a href={place}>Open the policy rule</a>
    </p>
  )
}

const ToolBar: FC<ToolRowProps> = ({ tool, startedAt, axis }) => (
  <div class="tr">
    <span>
      {formatToolName(tool.name)}
      {tool.isError && <span class="crit">, error</span>}
    </span>
    <Lane
      axis={axis}
      from={tool.startedAt - startedAt}
      ms={tool.durationMs}
      kind={tool.isError ? 'bad' : 'tool'}
    />
    <span class="n">{formatSpan(tool.durationMs)}</span>
    <span class="n tok">{formatBytes(tool.resultBytes)}</span>
    <span class="n" />
  </div>
)

const Excerpt: FC<{ title: string; text: string }> = ({ title, text }) => (
  <div>
    <h3>{title}</h3>
    <pre tabindex={0}>{text || '(empty)'}</pre>
  </div>
)

/** Indents JSON; returns the text unchanged when it is not valid JSON: a model can write it, and it can be shortened. */
function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

interface StepTableProps {
  steps: StepView[]
  /** Usage of all calls, including those that belong to no step. */
  spent: TraceView['spent']
}

/** Shows tokens and cost of each step, of the calls that belong to no step, and in total. */
export const StepTable: FC<StepTableProps> = ({ steps, spent }) => {
  const rest = (pick: (of: Spent) => number) =>
    Math.max(0, pick(spent) - steps.reduce((all, step) => all + pick(step), 0))
  const costMicrousd = rest((of) => of.costMicrousd)
  const other = {
    inputTokens: rest((of) => of.inputTokens),
    cachedTokens: rest((of) => of.cachedTokens),
    outputTokens: rest((of) => of.outputTokens),
    costMicrousd,
    // when no call has a price, these have none either
    isPriced: spent.isPriced || costMicrousd > 0,
  }
  const hasOther = other.inputTokens + other.outputTokens + other.costMicrousd > 0
  return (
    <table class="tbl fold">
      <TableHead
        columns={[
          'Step',
          { right: 'Prompt' },
          { right: 'Reused prefix' },
          { right: 'Cached' },
          { right: 'Share cached' },
          { right: 'Output' },
          'Finish reason',
          { right: 'Cost' },
        ]}
      />
      <tbody>
        {steps.map((step) => (
          <tr>
            <td>
              {step.step}. {formatStep(step)}
            </td>
            <TokenCells
              of={step}
              kept={step.input?.prefixShare ?? null}
              images={step.input?.images}
            />
            <td class="whole" data-l="Finish reason">
              {step.finishReason}
            </td>
            <td class="r" data-l="Cost">
              {formatCost(step.costMicrousd, step.isPriced, 'trace')}
              {step.isEstimated && ' est.'}
            </td>
          </tr>
        ))}
        {hasOther && <SumRow name="Calls outside steps" of={other} />}
      </tbody>
      {(steps.length > 1 || hasOther) && (
        <tfoot>
          <SumRow name={hasOther ? 'All calls' : 'All steps'} of={spent} />
        </tfoot>
      )}
    </table>
  )
}

type Spent = Omit<TraceView['spent'], 'isPriced'>

const SumRow: FC<{ name: string; of: TraceView['spent'] }> = ({ name, of }) => (
  <tr>
    <td>{name}</td>
    <TokenCells of={of} />
    <td />
    <td class="r" data-l="Cost">
      {formatCost(of.costMicrousd, of.isPriced, 'trace')}
    </td>
  </tr>
)

interface TokenCellsProps {
  of: Pick<StepView, 'inputTokens' | 'cachedTokens' | 'outputTokens'>
  /** Share of the previous step's prompt that this prompt begins with, byte by byte; 0 to 1. */
  kept?: number | null
  /** Images that the model got. */
  images?: number | undefined
}

const TokenCells: FC<TokenCellsProps> = ({ of, kept = null, images = 0 }) => (
  <>
    <td class="r" data-l="Prompt">
      {formatCount(of.inputTokens)}
      {images > 0 && ` (${images === 1 ? '1 image' : `${images} images`})`}
    </td>
    <td class="r" data-l="Reused prefix">
      {kept !== null && formatShare(kept)}
    </td>
    <td class="r" data-l="Cached">
      {formatCount(of.cachedTokens)}
    </td>
    <td class="r" data-l="Share cached">
      {of.inputTokens > 0 ? formatShare(of.cachedTokens / of.inputTokens) : ''}
    </td>
    <td class="r" data-l="Output">
      {formatCount(of.outputTokens)}
    </td>
  </>
)

/** Events that the page lists at most; the JSON has all of them. */
const eventsShown = 400

interface EventListProps {
  activationId: string
  events: EventView[]
  startedAt: number
}

/** Lists the events of an activation in order, with their sequence numbers. */
export const EventList: FC<EventListProps> = ({ activationId, events, startedAt }) => {
  if (events.length === 0) return null
  return (
    <section class="block">
      <h2>
        Events{' '}
        <span class="meta">
          <a href={`/api/v1/activations/${encodeURIComponent(activationId)}/events`}>as JSON</a>
        </span>
      </h2>
      <details class="up3" id="events">
        <summary class="meta">{formatPlural(events.length, 'event', 'events')}, in order</summary>
        <ol class="list">
          {events.slice(0, eventsShown).map((event) => (
            <li>
              <span>
                {event.seq}. {formatEvent(event)}
              </span>
              <span class="r">{formatOffset(Date.parse(event.at) - startedAt)}</span>
            </li>
          ))}
        </ol>
        {events.length > eventsShown && (
          <p class="meta">{events.length - eventsShown} more events are in the JSON.</p>
        )}
      </details>
    </section>
  )
}

/** Formats an offset from the start of an activation. */
const formatOffset = (ms: number): string => `at ${formatSpan(Math.max(0, ms))}`

/** Shows the initial prompt, folded because it is long. */
export const PromptBlock: FC<{ prompt: TraceView['prompt'] }> = ({ prompt }) =>
  prompt.length === 0 ? null : (
    <Block title="Initial prompt">
      <ul class="list tall">
        {prompt.map((message, index) => (
          <li>
            <details id={`prompt-${index}`}>
              <summary>
                {message.role}{' '}
                <span class="meta">{formatCount(message.chars)}&nbsp;characters</span>
              </summary>
              <pre class="up2" tabindex={0}>
                {message.excerpt}
              </pre>
            </details>
          </li>
        ))}
      </ul>
    </Block>
  )

/** Lists the notes of an activation: waits, retries, refusals and omissions. */
export const NoteList: FC<{ notes: Note[]; startedAt: number }> = ({ notes, startedAt }) =>
  notes.length === 0 ? null : (
    <Block title="Notes">
      <ul class="list">
        {notes.map((note) => (
          <li>
            <span>{note.text}</span>
            <span class="r">{formatOffset(note.at - startedAt)}</span>
          </li>
        ))}
      </ul>
    </Block>
  )

/** Shows outcomes and total time of each hook; nothing when no hook ran. */
export const HookTable: FC<{ steps: StepView[] }> = ({ steps }) => {
  const rows = sumHooks(steps)
  if (rows.length === 0) return null
  return (
    <Block title="Hooks">
      <table class="tbl fold">
        <TableHead columns={['Hook', 'Point', 'Outcomes', { right: 'Time' }]} />
        <tbody>
          {rows.map((row) => (
            <tr>
              <td>{row.hook}</td>
              <td class="whole" data-l="Point">
                {row.point}
              </td>
              <td class="whole" data-l="Outcomes">
                {formatOutcomes(row.outcomes)}
              </td>
              <td class="r whole" data-l="Time">
                {formatSpan(row.ms)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Block>
  )
}

interface HookRow {
  hook: string
  point: string
  ms: number
  outcomes: Map<string, number>
}

/** Returns one row per hook and point, in the order of their first run. */
function sumHooks(steps: StepView[]): HookRow[] {
  const rows = new Map<string, HookRow>()
  for (const step of steps) {
    for (const { hook, point, ms, outcome } of [
      ...step.hooks,
      ...step.tools.flatMap((tool) => tool.hooks),
    ]) {
      const key = `${hook} ${point}`
      const row = rows.get(key) ?? { hook, point, ms: 0, outcomes: new Map() }
      row.ms += ms
      row.outcomes.set(outcome, (row.outcomes.get(outcome) ?? 0) + 1)
      rows.set(key, row)
    }
  }
  return [...rows.values()]
}

const formatOutcomes = (outcomes: HookRow['outcomes']): string =>
  [...outcomes]
    .map(([outcome, count]) => `${outcome.replaceAll('_', ' ')} ${formatCount(count)} ×`)
    .join(', ')

/** Why the log of a run cannot be shown. */
export const logProblemLabels: Record<RunLogProblem, string> = {
  not_json: 'Its log is damaged: it is not valid JSON.',
  other_version: 'Another version of Rookery wrote its log.',
  invalid: 'Its log is damaged: an event is missing or incomplete.',
}
