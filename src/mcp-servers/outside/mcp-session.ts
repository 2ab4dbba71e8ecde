import type { GrantApi } from '../../hub/contract/hub'
import type { AccountId, ActivationId, Clock } from '../../shared/ids'
import type { ProgramCallRecorder } from '../contract/program-calls'
import type { ToolCaller } from '../contract/tools'
import type { Gateway } from '../gateway/gateway'

/** The context of one MCP request. */
export interface McpSession {
  /** The session id that the client sent; null: none. */
  id: string | null
  gateway: Gateway
  hub: GrantApi
  clock: Clock
  caller: ToolCaller
  /** Name of the hub, for clients that show it. */
  title: string
  /** Of `/mcp/<server>`; null for all servers. */
  serverName: string | null
  /** Keeps the Worker alive for work that outlives its request, such as the audit of an abandoned call. */
  defer(work: Promise<unknown>): void
  /** Returns what records the calls of a program on a runner. */
  findRecorder(agentId: AccountId): ProgramCallRecorder
  /** Notes that a program on a runner has listed its tools. */
  noteToolsListed(agentId: AccountId, activationId: ActivationId, attempt: number): Promise<void>
}
