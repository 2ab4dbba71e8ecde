import * as z from 'zod'
import type { AgentApi } from '../../agents/contract/agents'
import { formatCount } from '../../shared/format'
import { formatToolName } from './run-labels'

const hooks = z
  .array(
    z.object({
      hook: z.string().catch(''),
      point: z.string().catch(''),
      ms: z.number().catch(0),
      outcome: z.enum(['ok', 'denied', 'failed', 'timed_out']).catch('ok'),
    }),
  )
  .catch([])

const tool = z.object({
  callId: z.string().catch(''),
  name: z.string().catch('unknown tool'),
  grant: z.string().nullable().catch(null),
  arguments: z.string().catch(''),
  result: z.string().catch(''),
  isError: z.boolean().catch(false),
  startedAt: z.number().catch(0),
  durationMs: z.number().catch(0),
  resultBytes: z.number().catch(0),
  hooks,
})

const step = z.object({
  step: z.number().catch(0),
  startedAt: z.number().catch(0),
  modelMs: z.number().catch(0),
  retries: z.number().catch(0),
  input: z
    .object({
      messages: z.number(),
      chars: z.number(),
      tokens: z.number(),
      prefixShare: z.number().nullable(),
    })
    .nullable()
    .catch(null),
  inputTokens: z.number().catch(0),
  cachedTokens: z.number().catch(0),
  outputTokens: z.number().catch(0),
  reasoningTokens: z.number().catch(0),
  costMicrousd: z.number().catch(0),
  isPriced: z.boolean().catch(true),
  isEstimated: z.boolean().catch(false),
  finishReason: z.string().catch(''),
  text: z.string().catch(''),
  reasoning: z.string().catch(''),
  hooks,
  tools: z.array(tool).catch([]),
})

const event = z.looseObject({
  seq: z.number(),
  activation_id: z.string(),
  at: z.string(),
  kind: z.string(),
  type: z.string(),
})

const compaction = z.object({
  at: z.number().catch(0),
  durationMs: z.number().catch(0),
  replaced: z.number().catch(0),
  tokensBefore: z.number().catch(0),
  tokens: z.number().catch(0),
  costMicrousd: z.number().catch(0),
  problem: z.string().nullable().catch(null),
})

const park = z.object({
  at: z.number().catch(0),
  resumedAt: z.number().nullable().catch(null),
  tools: z.array(z.string()).catch([]),
  decisions: z
    .array(
      z.object({
        callId: z.string().catch(''),
        decision: z.string().catch(''),
        by: z.string().nullable().catch(null),
        note: z.string().catch(''),
      }),
    )
    .catch([]),
})

const noTime = {
  loadingMs: 0,
  modelMs: 0,
  toolsMs: 0,
  hooksMs: 0,
  compactionMs: 0,
  parkedMs: 0,
  waitingMs: 0,
  otherMs: 0,
  totalMs: 0,
}
const time = z
  .object({
    loadingMs: z.number(),
    modelMs: z.number(),
    toolsMs: z.number(),
    hooksMs: z.number(),
    compactionMs: z.number(),
    parkedMs: z.number(),
    waitingMs: z.number(),
    otherMs: z.number(),
    totalMs: z.number(),
  })
  .catch(noTime)

const spent = z
  .object({
    inputTokens: z.number(),
    cachedTokens: z.number(),
    outputTokens: z.number(),
    costMicrousd: z.number(),
    isPriced: z.boolean(),
  })
  .nullable()
  .catch(null)

/**
 * The fields of a `Trace` (agents/contract.ts) that pages read; fields missing in older versions have
 * defaults.
 */
const traceFields = z.object({
  task: z.string().catch(''),
  session: z.string().nullable().catch(null),
  definitionVersion: z.number().catch(0),
  startedAt: z.number().catch(0),
  finishedAt: z.number().nullable().catch(null),
  error: z.object({ code: z.string(), message: z.string() }).nullable().catch(null),
  prompt: z
    .array(
      z.object({
        role: z.string().catch(''),
        excerpt: z.string().catch(''),
        chars: z.number().catch(0),
      }),
    )
    .catch([]),
  steps: z.array(step).catch([]),
  spent,
  notes: z
    .array(
      z.object({
        at: z.number().catch(0),
        text: z.string().catch(''),
        quote: z.string().catch(''),
      }),
    )
    .catch([]),
  compactions: z.array(compaction).catch([]),
  parks: z.array(park).catch([]),
  time,
  plan: z
    .object({
      goal: z.string().nullable().catch(null),
      steps: z
        .array(
          z.object({
            title: z.string().catch(''),
            status: z.enum(['pending', 'running', 'completed', 'failed']).catch('pending'),
            callId: z.string().nullable().catch(null),
          }),
        )
        .catch([]),
      progress: z.number().catch(0),
    })
    .catch({ goal: null, steps: [], progress: 0 }),
  events: z.array(event).catch([]),
})

const traceSchema = traceFields.transform((trace) => ({
  ...trace,
  spent: trace.spent ?? sumSpent(trace),
}))

/** Computes the usage of a trace whose version stored no total. */
function sumSpent({ steps, compactions }: UsageFields) {
  const sum = (pick: (of: (typeof steps)[number]) => number) =>
    steps.reduce((total, step) => total + pick(step), 0)
  return {
    inputTokens: sum((step) => step.inputTokens),
    cachedTokens: sum((step) => step.cachedTokens),
    outputTokens: sum((step) => step.outputTokens),
    costMicrousd: compactions.reduce(
      (total, { costMicrousd }) => total + costMicrousd,
      sum((step) => step.costMicrousd),
    ),
    isPriced: steps.every(({ isPriced }) => isPriced),
  }
}

type UsageFields = Pick<z.output<typeof traceFields>, 'steps' | 'compactions'>

export type TraceView = z.output<typeof traceSchema>
export type StepView = TraceView['steps'][number]
export type PlanView = TraceView['plan']
export type EventView = TraceView['events'][number]
export type ToolView = StepView['tools'][number]

/** Parses a stored trace; null when there is none or it cannot be read. */
export function readTrace(agents: TraceReader, stored: string | null): TraceView | null {
  if (stored === null) return null
  try {
    return traceSchema.parse(agents.openTrace(stored))
  } catch {
    return null
  }
}

type TraceReader = Pick<AgentApi, 'openTrace'>

export interface Note {
  /** Milliseconds since the Unix epoch. */
  at: number
  text: string
}

/** Formats a note, with the provider's own message if there is one. */
export const formatNote = (text: string, quote: string): string =>
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
export function formatStep(of: StepView): string {
  const count = of.tools.length
  if (count > 0) return `calls ${count === 1 ? '1 tool' : `${count} tools`}`
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
