import type { ConversationApi, GrantApi, Privacy } from '../../hub/contract/hub'
import type { CallClass } from '../../shared/config'
import type { AccountId, Clock } from '../../shared/ids'
import type { MemoryApi, ToolApi } from '../contract/tools'
import type { Connect } from '../credentials/connection'
import type { ResultStore } from '../storage/result-store'
import type { Workspace } from '../storage/workspace'
import type { ToolServer } from '../tool/define-tool'
import type { RemoteCatalogue } from './tool-registry'

export interface GatewayDeps {
  hub: ConversationApi & GrantApi
  memory: MemoryApi
  workspaceOf(accountId: AccountId, privacy: Privacy, isUntrusted: boolean): Workspace
  results: ResultStore
  clock: Clock
  servers: ToolServer[]
  /** Remote MCP servers that admins add while the hub runs. */
  remote?: RemoteCatalogue
  /** Connects to external services with their credentials; absent: tools cannot use any. */
  connect?: Connect
  /** The time of a call whose tool states none; absent: the default. */
  toolTimeoutMs?: number | undefined
  /** Reports the private cause of a failed tool to the operator. */
  reportFailure?: (tool: string, cause: unknown) => void
}

export interface Gateway extends ToolApi {
  /** Returns the servers that this isolate has loaded; call `refresh` first. */
  servers(): { name: string; description: string }[]
  /** Whether a tool has calls that write. One that this isolate has not loaded may have. */
  canWrite(name: string): boolean
  /** Closes what runs hold open at services and have not used for a while. Never throws. */
  closeIdle(): Promise<void>
  /** Returns the limit that counts the calls of a tool by outside callers. */
  findCallClass(name: string): CallClass
}
