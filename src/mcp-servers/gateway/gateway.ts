import type { ConversationDoor, GrantDoor } from '../../hub/contract'
import type { AccountId, Clock } from '../../ids'
import type { MemoryDoor, ToolApi } from '../contract'
import type { Connect } from '../credentials/connection'
import type { ToolServer } from '../define-tool'
import type { ResultStore } from '../results/result-store'
import type { Workspace } from '../workspace/workspace'
import type { RemoteCatalogue } from './tool-registry'

export interface GatewayDeps {
  hub: ConversationDoor & GrantDoor
  memory: MemoryDoor
  workspaceOf(accountId: AccountId): Workspace
  results: ResultStore
  clock: Clock
  servers: ToolServer[]
  /** Servers that admins add while the hub runs. */
  remote?: RemoteCatalogue
  /** Opens services outside, with their credentials; without it no tool gets out. */
  connect?: Connect
  /** Told the private reason when a tool fails; for the operator's eyes. */
  reportFailure?: (tool: string, cause: unknown) => void
}

export interface Gateway extends ToolApi {
  /** As this isolate knows them; `refresh` first. */
  servers(): { name: string; description: string }[]
}
