/** What decides about a tool call, by policy or by a person. Part of the hub's contract. */
import type { AccountId, ActivationId } from '../ids'
import type { GrantPolicy } from './contract-activations'

/** A call that the gateway must decide about. */
export interface CallQuestion {
  accountId: AccountId
  activationId: ActivationId | null
  callId: string
  tool: string
  argumentsHash: string
}

/** What decides about one call, as it stands when the call is made (M4). */
export interface CallFacts {
  policy: GrantPolicy
}

/** A tool call that waits for a person, exactly as it would run (M7). */
export interface ApprovalRequest {
  callId: string
  tool: string
  grant: string
  tier: 'read' | 'write' | 'destructive'
  /** Raw JSON, final. */
  arguments: string
  argumentsHash: string
}

export interface ApprovalDecision {
  callId: string
  decision: 'approved' | 'denied' | 'expired'
  /** Who decided; null when time did. */
  by: string | null
  note: string
}
