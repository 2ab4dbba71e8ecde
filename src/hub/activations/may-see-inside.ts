import type { AgentApi, RuntimeEvent } from '../../agents/contract'
import type { AccountId } from '../../ids'
import type { PlanView, TraceView } from './trace-view'

/**
 * How much somebody may see of what went on inside an activation: prompts, what the model wrote and
 * thought, what tools were told and answered (M9). `all` for admins and the agent's owner: its own
 * account, and who wrote the definition that it ran by. `answer` for who gave the task by hand or in a
 * message: what it came to. Everybody else who may read the hub sees `none` of it, but everything around it: steps,
 * names of tools, times, tokens, money, and the answer where it was posted.
 */
export type Insight = 'all' | 'answer' | 'none'

/** What the database knows of who may see inside; `insideColumns` selects it. */
export interface InsideFacts {
  agentId: AccountId
  /** Who wrote the definition it ran by. */
  definedBy: AccountId | null
  /** JSON list of those who gave it a task by hand or in a message. */
  givenBy: string
}

/** Needs `activations x`. */
export const insideColumns = `
  (SELECT d.created_by FROM agent_definitions d
   WHERE d.account_id = x.agent_id AND d.version = x.definition_version) AS definedBy,
  (SELECT json_group_array(DISTINCT i.from_account_id) FROM inbox_items i
   WHERE i.claimed_by = x.id AND (i.task = 'manual' OR i.type = 'dm') AND i.from_account_id IS NOT NULL) AS givenBy`

export interface Onlooker {
  id: string
  isAdmin: boolean
}

export const isOwner = (
  viewer: Onlooker | null,
  agentId: AccountId,
  definedBy: AccountId | null,
): boolean =>
  viewer !== null && (viewer.isAdmin || viewer.id === agentId || viewer.id === definedBy)

/** @param viewer null for somebody without a key */
export function findInsight(
  viewer: Onlooker | null,
  { agentId, definedBy, givenBy }: InsideFacts,
): Insight {
  if (isOwner(viewer, agentId, definedBy)) return 'all'
  const givers: string[] = JSON.parse(givenBy)
  return viewer && givers.includes(viewer.id) ? 'answer' : 'none'
}

/** A trace as somebody with this insight sees it: the same fields, those of the inside empty. */
export function hideInside(trace: TraceView, insight: Insight, agents: HidesEvents): TraceView {
  if (insight === 'all') return trace
  const last = trace.steps.length - 1
  return {
    ...trace,
    // names who wrote to the agent in private (H10)
    session: null,
    prompt: [],
    steps: trace.steps.map((step, index) => ({
      ...step,
      text: insight === 'answer' && index === last && step.tools.length === 0 ? step.text : '',
      reasoning: '',
      tools: step.tools.map((tool) => ({ ...tool, arguments: '', result: '' })),
    })),
    notes: trace.notes.map((note) => ({ ...note, quote: '' })),
    parks: trace.parks.map((park) => ({
      ...park,
      decisions: park.decisions.map((decision) => ({ ...decision, note: '' })),
    })),
    plan: hidePlan(trace.plan),
    events: trace.events.map(
      (event) => agents.hideInside(event as RuntimeEvent) as TraceView['events'][number],
    ),
  }
}

type HidesEvents = Pick<AgentApi, 'hideInside'>

/** A plan without the agent's own words; that it has steps, and which tools it calls, stays. */
export const hidePlan = ({ steps, progress }: PlanView): PlanView => ({
  goal: null,
  steps: steps.map((step) => (step.callId === null ? { ...step, title: '' } : step)),
  progress,
})
