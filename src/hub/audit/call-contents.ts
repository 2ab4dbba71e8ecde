import type { ActionContext } from '../action-context'
import { readTrace } from '../traces/trace-view'
import type { AuditDetail } from './list-queries'

/** Arguments and result of a call; null when not stored. */
export interface CallContents {
  arguments: string | null
  result: string | null
}

/**
 * Returns arguments and result of a call: of a hosted agent from its trace, where they are truncated
 * and masked, of an external caller the stored arguments.
 */
export function readCallContents(
  agents: ActionContext['agents'],
  { arguments: stored, trace, callId }: AuditDetail,
): CallContents {
  const steps = readTrace(agents, trace, 'all')?.steps ?? []
  const tool = steps.flatMap(({ tools }) => tools).find((each) => each.callId === callId)
  return { arguments: stored ?? tool?.arguments ?? null, result: tool?.result ?? null }
}
