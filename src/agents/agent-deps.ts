import type { ActivationApi } from '../hub/contract/hub'
import type { ToolApi } from '../mcp-servers/contract/tools'
import type { AccountId, Clock } from '../shared/ids'
import type { Log } from '../shared/log'
import type { RunnerApi } from './contract/coding-agents'
import type { Definition } from './definitions/definition'
import type { PatchStore } from './executors/patch-store'
import type { HookRunner } from './hooks/hook-runner'
import type { ModelRegistry } from './models/model-port'
import type { RecoveryLane } from './recovery'
import type { TraceExporter } from './run/otlp-exporter'

/** Reads an agent's definition. For an invalid or missing one, `message` has the reason. */
export interface DefinitionSource {
  read(
    name: string,
    etag: string,
  ): Promise<{ ok: true; definition: Definition } | { ok: false; message: string }>
}

/** Dependencies of an agent, provided by the composition root. */
export interface AgentDeps {
  hub: ActivationApi
  tools: ToolApi
  models: Pick<ModelRegistry, 'resolve'>
  /** The machines that run coding agents. */
  runners: RunnerApi
  /** How long a program may wait for an approval, in milliseconds, before its run parks. */
  approvalWaitMs: number
  /** What programs changed in repositories. */
  patches: Pick<PatchStore, 'save'>
  definitions: DefinitionSource
  /** The hooks of this deployment. */
  hooks: HookRunner
  /** Wakes other agents that have waiting tasks. A hint; never throws. */
  wakeAgents(agentIds: AccountId[]): Promise<void>
  clock: Clock
  /** Whose turn it is among the interrupted runs of this process. */
  lane: RecoveryLane
  /** The hub's display name. */
  hubName: string
  /** Masks whatever is shaped like a credential. */
  mask(text: string): string
  log: Log
  /** Exports finished activations; absent when no collector is configured. */
  exporter?: TraceExporter
  /** Returns a random number from 0 to 1. */
  random(): number
  /** Running activations allowed on the hub. */
  capacity: number
  /** Activations of these that are reserved for exploration while agents wait to explore. */
  explorationFloor?: number
}
