import type { ApprovalReason, AuditEntry, GrantPolicy } from '../../hub/contract/hub'
import type { ToolCaller } from '../contract/tools'
import type { PreparedCall } from '../tool/define-tool'
import type { Pipeline } from './pipeline'
import type { NamedTool } from './tool-registry'
import type { WatchedReads } from './watch-reads'

/** A call whose arguments are valid. */
export interface PendingCall {
  pipeline: Pipeline
  caller: ToolCaller
  tool: NamedTool
  prepared: PreparedCall
  /** The arguments as raw JSON, and parsed. */
  raw: string
  args: unknown
  entry: AuditEntry
  /** The hub's API and what the account stores, for the tool. */
  reads: WatchedReads
  signal: AbortSignal
  /** Reports progress to the caller. */
  progress(text: string): void
  /** The policy that the decision is based on. */
  policy?: GrantPolicy
  /** Why it requires approval; absent: it does not, or that is not decided yet. */
  reasons?: ApprovalReason[]
  /** It used the account of the requester, so that its result is private. */
  usesOwnAccount?: boolean
  /** The call for which an approval of the same call was requested before, and is still pending. */
  requestedBy?: string
  /** The approval that the call consumes when it runs. */
  approvalId?: string
}

/** Whether the result of a call is for the requester alone. */
export const isPrivateResult = ({ reads, usesOwnAccount }: PendingCall): boolean =>
  reads.hasPrivate() || usesOwnAccount === true
