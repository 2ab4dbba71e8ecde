/** What an activation writes when it ends. Part of the hub's contract; other modules import it from `hub.ts`. */
import type { ActivationError, Outcome } from '../../shared/errors'
import type { AccountId, ActivationId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import type { ActivationCounters } from './activation-counters'
import type { Usage } from './budgets'

export interface AuditEntry {
  callId: string
  tool: string
  grant: string
  argumentsHash: string
  /** Raw JSON; only for calls over MCP. The trace holds the arguments of calls by activations. */
  arguments?: string
  /** Reason for a refusal, as returned to the caller; or which standing rule allowed the call. */
  reason?: string
  /** The standing rule that allowed the call. */
  ruleId?: string
  decision: 'allowed' | 'denied' | 'invalid' | 'unknown_tool' | 'needs_approval' | 'rate_limited'
  outcome: 'ok' | 'error' | 'timeout' | 'cancelled' | null
  durationMs: number | null
  resultBytes: number | null
  at: number
}

/** The reply of an activation. Without a post it goes to the requester's inbox. */
export interface CommitReply {
  /** Chosen and journaled before the commit, so that a retry is idempotent. */
  id: CommentId
  postId: PostId | null
  parentId: CommentId | null
  content: string
  /** Names of the requesters. */
  requesters?: string[]
  /**
   * Requesters whom the text mentions only because the reply goes to them. These mentions wake nobody,
   * so that two agents cannot keep waking each other.
   */
  addressed?: string[]
}

export interface CommitRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  outcome: Outcome
  /** Whether the run has read untrusted text: its reply is untrusted text then. */
  hasReadUntrusted: boolean
  error: ActivationError | null
  /** Null posts nothing. */
  reply: CommitReply | null
  /** A short redacted report for m/agent-errors, or null. */
  report: { id: PostId; title: string; content: string } | null
  iterations: number
  /** What the refused call needs at least, when the budget ended the activation. */
  refusedCall?: { microusd: number; tokens: number }
  usage: Usage[]
  tools: string[]
  /** Grants that the definition requests and the policy did not grant for the requesters. */
  notGranted?: string[]
  /**
   * Items that joined the run and that its model has read, or will not read because it ends. Others that joined
   * are delivered again.
   */
  joined?: InboxItemId[]
  /** Absent when the activation's record is lost. */
  counters?: ActivationCounters
  audit: AuditEntry[]
  /** JSON of the trace shown on the activation page; at most 512 KiB. */
  trace: string
  model: string
  /** The coding agent that worked on it; absent for a run of the hub itself. */
  program?: string
}

export interface CommitResult {
  /** `done`: this commit, or an earlier commit of the same activation, finished it. */
  kind: 'done' | 'lost'
  replyId: CommentId | null
  /** Why the reply was not posted, or why a notice was posted instead. */
  replyRefusal: string | null
  /** Agents with unclaimed tasks, oldest first, this agent included. The caller has to wake them. */
  waiting: AccountId[]
}
