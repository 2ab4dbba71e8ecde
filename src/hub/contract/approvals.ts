/** Approvals of tool calls. Part of the hub's contract. */

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled'

/** A tool call that requires approval, exactly as it will run when approved. */
export interface ApprovalRequest {
  callId: string
  tool: string
  grant: string
  tier: 'read' | 'write' | 'destructive'
  /** Raw JSON; cannot change after the request. */
  arguments: string
  argumentsHash: string
  /** Why it requires approval; absent in older records. */
  reasons?: ApprovalReason[]
}

/** Why a call requires approval. */
export type ApprovalReason =
  /** An entry of the policy's approval rules. */
  | { kind: 'policy'; entry: string }
  /** The run has read text by guests or from outside. */
  | { kind: 'untrusted' }
  /** The call could carry texts of a closed community to those who do not read it. */
  | { kind: 'community'; community: string }

export interface ApprovalDecision {
  callId: string
  decision: 'approved' | 'denied' | 'expired'
  /** Name of the person who decided; null when the approval expired. */
  by: string | null
  note: string
}
