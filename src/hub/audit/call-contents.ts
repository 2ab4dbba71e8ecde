import type { ActionContext } from '../action-context'
import { openStoredTrace } from '../archive/archived-trace-view'
import { isClosedToAdmin, isOfOthersAccount, type TraceViewer } from '../traces/trace-access'
import { readTrace } from '../traces/trace-view'
import type { AuditDetail } from './list-queries'

/** Arguments and result of a call; null when not stored. */
export interface CallContents {
  arguments: string | null
  result: string | null
  /** Whether they are left out until an admin opens the run. */
  isClosed: boolean
}

/**
 * Returns arguments and result of a call: of a hosted agent from its trace, where they are truncated
 * and masked, of an external caller the stored arguments. An admin opens a private run first.
 */
export async function readCallContents(
  { agents, archive }: Pick<ActionContext, 'agents' | 'archive'>,
  viewer: TraceViewer | null,
  row: AuditDetail,
): Promise<CallContents> {
  const { arguments: stored, trace, callId } = row
  if (row.activationId !== null && isClosedToAdmin(viewer, row)) {
    return { arguments: null, result: null, isClosed: true }
  }
  // An admin can have opened it, nobody else can.
  if (viewer?.isAdmin !== true && isOfOthersAccount(viewer, row)) {
    return { arguments: null, result: null, isClosed: false }
  }
  const log = await openStoredTrace(archive, trace)
  const steps = readTrace(agents, log, 'all', row)?.steps ?? []
  const tool = steps.flatMap(({ tools }) => tools).find((each) => each.callId === callId)
  return {
    arguments: stored ?? tool?.arguments ?? null,
    result: tool?.result ?? null,
    isClosed: false,
  }
}
