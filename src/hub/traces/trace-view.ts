import type { AgentApi, Plan, RunAccess, Trace } from '../../agents/contract/agents'
import { formatCount } from '../../shared/format'
import { formatToolName } from './run-labels'

export type TraceView = Trace
export type StepView = TraceView['steps'][number]
export type PlanView = Plan
export type EventView = TraceView['events'][number]
export type ToolView = StepView['tools'][number]

/**
 * Returns a stored run as a viewer may see it; null when none is stored or it cannot be read.
 *
 * @param stored the log of the run
 * @param run what its access was decided by
 */
export const readTrace = (
  agents: Pick<AgentApi, 'openRun'>,
  stored: string | null,
  access: RunAccess,
  { usesOwnAccount }: { usesOwnAccount: boolean },
): TraceView | null => (stored === null ? null : agents.openRun(stored, access, usesOwnAccount))

export interface Note {
  /** Milliseconds since the Unix epoch. */
  at: number
  text: string
}

/** Formats a note, with the provider's own message if there is one. */
export const formatNote = (text: string, quote = ''): string =>
  quote === '' ? text : `${text} Provider message: ${quote}`

/** Returns notes, compactions and approvals of a trace, in order of time. */
export function listNotes({ notes, compactions, parks }: TraceView): Note[] {
  const all: Note[] = [
    ...notes.map(({ at, text, quote }) => ({ at, text: formatNote(text, quote) })),
    ...compactions.map(({ at, replaced, tokensBefore, tokens, problem }) => ({
      at,
      text:
        `Summarized ${formatCount(replaced)} messages: ` +
        `${formatCount(tokensBefore)} tokens before, ${formatCount(tokens)} after.` +
        (problem === null ? '' : ` Used an extract in place of a model's summary: ${problem}`),
    })),
    ...parks.flatMap(({ at, resumedAt, tools, decisions }) => [
      { at, text: `Waited for approval to use ${tools.map(formatToolName).join(', ')}.` },
      ...(resumedAt === null
        ? []
        : decisions.map(({ decision, by, note }) => ({
            at: resumedAt,
            text: `${decision}${by === null ? '' : ` by ${by}`}${note ? `: ${note}` : ''}`,
          }))),
    ]),
  ]
  return all.sort((a, b) => a.at - b.at)
}

/**
 * Returns the time a step ends, in milliseconds since the Unix epoch: after its model call and its
 * slowest tool.
 */
export const computeStepEnd = (of: StepView): number =>
  Math.max(
    of.startedAt + of.modelMs,
    ...of.tools.map(({ startedAt, durationMs }) => startedAt + durationMs),
  )

/** Describes a step in a few words. */
export function formatStep(
  of: Pick<StepView, 'text' | 'finishReason'> & { tools: readonly unknown[] },
): string {
  const count = of.tools.length
  if (count > 0) return `calls ${count === 1 ? '1 tool' : `${count} tools`}`
  // Tools that a program has itself make no rows.
  if (of.finishReason === 'tool-calls') return 'calls tools'
  if (of.text || of.finishReason === 'stop') return 'writes the reply'
  return of.finishReason || 'calls the model'
}

export interface Axis {
  /** Milliseconds at the right end. */
  end: number
  /** Milliseconds of each mark, from 0; the end is not one of them. */
  marks: number[]
}

/**
 * Returns an axis over `span` milliseconds with three to six marks at round values (1, 2 or 5 times a
 * power of ten).
 */
export function computeAxis(span: number): Axis {
  const wanted = Math.max(span, 1) / 5
  const magnitude = 10 ** Math.floor(Math.log10(wanted))
  const step =
    [1, 2, 5, 10].map((each) => each * magnitude).find((each) => each >= wanted) ?? wanted
  const count = Math.max(1, Math.ceil(span / step))
  return { end: count * step, marks: Array.from({ length: count }, (_, index) => index * step) }
}
