import type { AccountId } from '../ids'
import type { AgentObjectBase } from './agent-object'
import type { AgentApi } from './contract'
import { checkDefinition } from './definitions/check-definition'
import type { DefinitionStore } from './definitions/definition-store'
import { toWatchRequest } from './live/watch-request'
import type { ModelChoice, ModelRegistry } from './models/model-port'

export interface AgentApiDeps {
  namespace: DurableObjectNamespace<AgentObjectBase<unknown>>
  definitions: DefinitionStore
  models: ModelRegistry
  /** The tool servers that a definition may name. */
  serverNames: readonly string[]
}

/** The hub's way to its agents: one Durable Object each, named by account id. */
export function createAgentApi(deps: AgentApiDeps): AgentApi {
  const { namespace, definitions, models, serverNames } = deps
  const resolveModel = (choice: ModelChoice) => models.resolve(choice).model
  const object = (agentId: AccountId) => namespace.getByName(agentId)
  return {
    wake: (agentId) => object(agentId).wake(agentId),
    cancel: (agentId, activationId) => object(agentId).cancel(activationId),
    readState: async (agentId) => object(agentId).readState(),
    readTrace: async (agentId, activationId) => object(agentId).readTrace(activationId),
    watch: (agentId, watched, request) => object(agentId).fetch(toWatchRequest(watched, request)),
    checkDefinition: (files) => checkDefinition(files, { resolveModel, serverNames }),
    keepDefinition: (name, etag, files) => definitions.keep(name, etag, files),
  }
}

/** Wakes many; one that cannot be reached is left to the sweep. */
export const createWaker =
  (namespace: AgentApiDeps['namespace']) =>
  async (agentIds: AccountId[]): Promise<void> => {
    await Promise.allSettled(agentIds.map((id) => namespace.getByName(id).wake(id)))
  }
