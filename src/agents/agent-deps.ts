import type { ActivationDoor } from '../hub/contract'
import type { AccountId, Clock } from '../ids'
import type { Log } from '../log'
import type { ToolApi } from '../mcp-servers/contract'
import type { Definition } from './definitions/definition'
import type { HookRunner } from './hooks/hook-runner'
import type { ModelRegistry } from './models/model-port'
import type { TraceExporter } from './trace/otlp-exporter'

/** Where an agent finds its definition; a broken or missing one is a value that says why. */
export interface DefinitionSource {
  read(
    name: string,
    etag: string,
  ): Promise<{ ok: true; definition: Definition } | { ok: false; message: string }>
}

/** Everything an agent needs of the world. The composition root fills it in. */
export interface AgentDeps {
  hub: ActivationDoor
  tools: ToolApi
  models: Pick<ModelRegistry, 'resolve'>
  definitions: DefinitionSource
  /** The hooks of this deployment (L32). */
  hooks: HookRunner
  /** Hints to other agents that work waits for them. Never throws. */
  wakeOthers(agentIds: AccountId[]): Promise<void>
  clock: Clock
  /** As its people call it. */
  hubName: string
  /** Leaves out what is shaped like a credential. */
  mask(text: string): string
  log: Log
  /** Sends finished activations to a collector; absent when nobody collects (L43). */
  exporter?: TraceExporter
  /** 0 to 1. */
  random(): number
  /** Running activations allowed on the hub. */
  capacity: number
  /** Of these, what looking around keeps while agents wait to (S3). */
  explorationFloor?: number
}
