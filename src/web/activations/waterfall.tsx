import type { FC } from 'hono/jsx'
import { formatToolName } from '../../hub/traces/run-labels'
import {
  type Axis,
  computeAxis,
  computeStepEnd,
  formatStep,
  type StepView,
  type ToolView,
  type TraceView,
} from '../../hub/traces/trace-view'
import { formatBytes, formatCost, formatCount, formatSpan } from '../../shared/format'

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
