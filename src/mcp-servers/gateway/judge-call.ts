import type { AuditEntry, CallFacts } from '../../hub/contract'
import { decide } from './decide'
import type { AskedCall } from './decided-call'

/** Why a call does not run, in words that the model reads. */
export interface Refusal {
  decision: AuditEntry['decision']
  text: string
}

/** The one place where a call is refused or let through; null lets it run. */
export async function judgeCall(
  { caller, tool, prepared, args }: AskedCall,
  facts: CallFacts,
): Promise<Refusal | null> {
  const { grant } = prepared
  const decision = decide(facts.policy, caller, tool, { grant, args })
  if (decision.isAllowed) return null
  return {
    decision: 'denied',
    text: `Error: Missing grant ${decision.grant}. Why: ${decision.reason}.`,
  }
}
