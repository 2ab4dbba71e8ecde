import type { AuditEntry, GrantDoor, GrantPolicy } from '../../hub/contract'
import type { ToolCaller } from '../contract'
import type { PreparedCall } from '../define-tool'
import type { Pipeline } from './pipeline'
import type { NamedTool } from './tool-registry'

/** A call whose arguments are valid. */
export interface AskedCall {
  pipeline: Pipeline
  caller: ToolCaller
  tool: NamedTool
  prepared: PreparedCall
  /** The arguments as they came, and parsed. */
  raw: string
  args: unknown
  entry: AuditEntry
  signal: AbortSignal
  /** Tells the caller how far it is. */
  progress(text: string): void
  /** The policy by which it was decided. */
  policy?: GrantPolicy
  /** An approval that it uses up when it runs. */
  approvalId?: string
  /** What its rate limits said: asked once, however often it is decided. */
  taken?: ReturnType<GrantDoor['takeCall']>
}
