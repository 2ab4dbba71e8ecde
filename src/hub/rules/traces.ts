import type { AgentApi, Plan, RunAccess, Trace } from '../../agents/contract/agents'
import type { RowOf } from '../../shared/db/fields'
import { formatCount } from '../../shared/format'
import type { AccountId } from '../../shared/ids'
import type { KeyPrefixes } from '../../shared/settings'
import { canHoldCredential, maskCredentials } from './credential-patterns'
import type { traceAccessColumns } from './traces-sql'

/**
 * How much of a trace's private parts a viewer sees: prompts, model text and reasoning, tool arguments
 * and results. `all`: admins and the agent's owner, which is its own account and the author of the
 * definition that it ran. `answer`: an account that assigned the task by hand or in a message sees the
 * final text only. `none`: everyone else who can read the hub; they still see steps, names of tools,
 * times, tokens, cost, and the reply where it was posted. Of a run in a thread that the viewer does not read
 * nobody sees more. An admin sees such a run, and one that is private to others, after opening it. One that used the
 * account that its requester connected is private, also to the agent's owner, and so is one whose request, thread or
 * answer was deleted or removed.
 */
export type TraceAccess = RunAccess

/** What decides who may see the private parts: the agent, and `traceAccessColumns`. */
type TraceAccessColumns = { agentId: AccountId } & RowOf<ReturnType<typeof traceAccessColumns>>

/** An account that reads a trace. */
export interface TraceViewer {
  id: string
  isAdmin: boolean
}

/** Whether the viewer is an admin, the agent itself, or the author of its definition. */
export const isOwner = (
  viewer: TraceViewer | null,
  agentId: AccountId,
  definedBy: AccountId | null,
): boolean =>
  viewer !== null && (viewer.isAdmin || viewer.id === agentId || viewer.id === definedBy)

/** Whether the run used a connected account, and not the viewer's. */
export const isOfOthersAccount = (
  viewer: TraceViewer | null,
  { usesOwnAccount, privateTo }: Pick<TraceAccessColumns, 'usesOwnAccount' | 'privateTo'>,
): boolean => usesOwnAccount && !privateTo.some((id) => id === viewer?.id)

/** Whether an admin has to open a run before reading it: it is private to a community or to others. */
export const isClosedToAdmin = (viewer: TraceViewer | null, run: TraceAccessColumns): boolean => {
  const { agentId, isReadable, isOpened, privateTo } = run
  if (viewer?.isAdmin !== true || isOpened) return false
  if (isOfOthersAccount(viewer, run)) return true
  const isOthers = privateTo.length > 0 && !privateTo.some((id) => id === viewer.id)
  return viewer.id !== agentId && (!isReadable || isOthers)
}

/** Returns how much of an activation the viewer sees. @param viewer null for an anonymous viewer */
export function findTraceAccess(viewer: TraceViewer | null, run: TraceAccessColumns): TraceAccess {
  const { agentId, definedBy, givenBy, isReadable, isGone } = run
  if (viewer?.isAdmin) return isClosedToAdmin(viewer, run) ? 'none' : 'all'
  if (!isReadable) return 'none'
  if (isOwner(viewer, agentId, definedBy) && !isGone && !isOfOthersAccount(viewer, run))
    return 'all'
  return givenBy.some((id) => id === viewer?.id) ? 'answer' : 'none'
}

/**
 * Returns whether a list of runs has the run for the viewer, and its page the names of its requesters. The sender
 * of a direct message is private, and so is who writes in a thread that the viewer does not read.
 */
export const isRunShown = (
  viewer: TraceViewer | null,
  run: TraceAccessColumns & { task: string },
): boolean => (run.task !== 'dm' && run.isReadable) || findTraceAccess(viewer, run) !== 'none'

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

/**
 * Returns a trace as JSON with credentials masked. Each string value is checked after parsing, because
 * JSON escapes hide word boundaries.
 */
export function maskTrace(trace: string, keys: KeyPrefixes): string {
  if (!canHoldCredential(trace, keys)) return trace
  return JSON.stringify(
    JSON.parse(trace, (_key, value: unknown) =>
      typeof value === 'string' ? maskCredentials(value, keys) : value,
    ),
  )
}

/** Formats a tool name as server and tool: `hub_read_thread` becomes `hub.read_thread`. */
export const formatToolName = (name: string): string => name.replace('_', '.')
