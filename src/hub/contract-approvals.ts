/** What people decide about calls that wait for them. Part of the hub's contract. */

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled'

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
