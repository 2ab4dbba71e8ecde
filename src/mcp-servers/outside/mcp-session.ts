import type { GrantDoor } from '../../hub/contract'
import type { Clock } from '../../ids'
import type { ToolCaller } from '../contract'
import type { Gateway } from '../gateway/gateway'

/** What one request needs to be answered. */
export interface McpSession {
  /** As the client names it; null: it names none. */
  id: string | null
  gateway: Gateway
  hub: GrantDoor
  clock: Clock
  caller: ToolCaller
  /** The hub's name, for clients that show it. */
  title: string
  /** Of `/mcp/<server>`; null for all servers. */
  serverName: string | null
  /** Lets work end that outlives its request: the audit of a call whose caller has gone. */
  defer(work: Promise<unknown>): void
}
