import type { RunAccess } from '../../agents/contract/agents'
import type { RowOf } from '../../shared/db/fields'
import type { AccountId } from '../../shared/ids'
import type { traceAccessColumns } from './trace-access-queries'

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
export type TraceAccessColumns = { agentId: AccountId } & RowOf<
  ReturnType<typeof traceAccessColumns>
>

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
