import type { RunAccess } from '../../agents/contract/agents'
import type { AccountId } from '../../shared/ids'

/**
 * How much of a trace's private parts a viewer sees: prompts, model text and reasoning, tool arguments
 * and results. `all`: admins and the agent's owner, which is its own account and the author of the
 * definition that it ran. `answer`: an account that assigned the task by hand or in a message sees the
 * final text only. `none`: everyone else who can read the hub; they still see steps, names of tools,
 * times, tokens, cost, and the reply where it was posted.
 */
export type TraceAccess = RunAccess

/** Columns that decide who may see the private parts; selected by `insideColumns`. */
export interface TraceAccessColumns {
  agentId: AccountId
  /** Author of the definition version that the activation ran. */
  definedBy: AccountId | null
  /** JSON list of account ids that assigned the task by hand or in a message. */
  givenBy: string
}

/** Columns of `InsideFacts`; the query has `activations x` in scope. */
export const traceAccessColumns = `
  (SELECT d.created_by FROM agent_definitions d
   WHERE d.account_id = x.agent_id AND d.version = x.definition_version) AS definedBy,
  (SELECT json_group_array(DISTINCT i.from_account_id) FROM inbox_items i
   WHERE i.claimed_by = x.id AND (i.task = 'manual' OR i.type = 'dm') AND i.from_account_id IS NOT NULL) AS givenBy`

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
  const requesterIds: string[] = JSON.parse(givenBy)
  return viewer && requesterIds.includes(viewer.id) ? 'answer' : 'none'
}
