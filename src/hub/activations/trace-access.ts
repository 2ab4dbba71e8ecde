import type { AgentApi, RuntimeEvent } from '../../agents/contract/agents'
import type { RowOf } from '../../shared/db/fields'
import type { AccountId } from '../../shared/ids'
import type { traceAccessColumns } from './trace-access-queries'
import type { PlanView, TraceView } from './trace-view'

/**
 * How much of a trace's private parts a viewer sees: prompts, model text and reasoning, tool arguments
 * and results. `all`: admins and the agent's owner, which is its own account and the author of the
 * definition that it ran. `answer`: an account that assigned the task by hand or in a message sees the
 * final text only. `none`: everyone else who can read the hub; they still see steps, names of tools,
 * times, tokens, cost, and the reply where it was posted.
 */
export type TraceAccess = 'all' | 'answer' | 'none'

/** What decides who may see the private parts: the agent, and `traceAccessColumns`. */
export type TraceAccessColumns = { agentId: AccountId } & RowOf<typeof traceAccessColumns>

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

/** Returns how much of an activation the viewer sees. @param viewer null for an anonymous viewer */
export function findTraceAccess(
  viewer: TraceViewer | null,
  { agentId, definedBy, givenBy }: TraceAccessColumns,
): TraceAccess {
  if (isOwner(viewer, agentId, definedBy)) return 'all'
  return givenBy.some((id) => id === viewer?.id) ? 'answer' : 'none'
}

/** Returns a trace with the same fields, and with those that the viewer may not see empty. */
export function redactTrace(
  trace: TraceView,
  access: TraceAccess,
  agents: EventRedactor,
): TraceView {
  if (access === 'all') return trace
  const last = trace.steps.length - 1
  return {
    ...trace,
    // contains the name of an account that messaged the agent in private
    session: null,
    prompt: [],
    steps: trace.steps.map((step, index) => ({
      ...step,
      text: access === 'answer' && index === last && step.tools.length === 0 ? step.text : '',
      reasoning: '',
      tools: step.tools.map((tool) => ({ ...tool, arguments: '', result: '' })),
    })),
    notes: trace.notes.map((note) => ({ ...note, quote: '' })),
    parks: trace.parks.map((park) => ({
      ...park,
      decisions: park.decisions.map((decision) => ({ ...decision, note: '' })),
    })),
    plan: redactPlan(trace.plan),
    events: trace.events.map(
      (event) => agents.hidePrivateContent(event as RuntimeEvent) as TraceView['events'][number],
    ),
  }
}

type EventRedactor = Pick<AgentApi, 'hidePrivateContent'>

/** Returns a plan without the agent's own text; step statuses and names of tools stay. */
export const redactPlan = ({ steps, progress }: PlanView): PlanView => ({
  goal: null,
  steps: steps.map((step) => (step.callId === null ? { ...step, title: '' } : step)),
  progress,
})
