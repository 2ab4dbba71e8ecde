import type { ActionContext } from '../action-context'
import { readTrace } from '../activations/trace-view'
import type { AuditDetail } from './list-queries'

/** What a call was told and what it answered, as far as it is still known. */
export interface CallTexts {
  arguments: string | null
  result: string | null
}

/** Of a hosted agent's call from its trace, where they are cut and masked; of an outside one what was kept. */
export function readCallTexts(
  agents: ActionContext['agents'],
  { arguments: kept, trace, callId }: AuditDetail,
): CallTexts {
  const steps = readTrace(agents, trace)?.steps ?? []
  const tool = steps.flatMap(({ tools }) => tools).find((each) => each.callId === callId)
  return { arguments: kept ?? tool?.arguments ?? null, result: tool?.result ?? null }
}
