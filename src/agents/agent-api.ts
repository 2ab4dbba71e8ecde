import type { GrantPolicy, ModelConnection } from '../hub/contract/hub'
import type { PrivateFiles } from '../mcp-servers/contract/private-files'
import type { MemoryApi, ToolRestrictions } from '../mcp-servers/contract/tools'
import { AppError } from '../shared/errors'
import type { AccountId, Clock } from '../shared/ids'
import type { Settings } from '../shared/settings'
import type { AgentObjectBase } from './agent-object'
import { rehearse } from './context/rehearse'
import type {
  AgentApi,
  KnowledgeApi,
  PrivateMemoryApi,
  RunnerControl,
  SchedulesApi,
  SessionApi,
  TransferApi,
} from './contract/agents'
import { checkDefinition } from './definitions/check-definition'
import type { DefinitionStore } from './definitions/definition-store'
import { editSchedules, listSchedules } from './definitions/edit-schedules'
import type { PatchStore } from './executors/patch-store'
import { toWatchRequest } from './live/watch-request'
import { createModelApi } from './model-api'
import type { ModelChoice, ModelRegistry } from './models/model-port'
import type { RecoveryLane } from './recovery'
import { type OtlpOptions, toOtlp } from './run/otlp-spans'
import { findRunLogProblem, openRun } from './run/stored-log'
import { createSessionSummaries } from './session-summaries'
import { templates } from './templates/templates'
import { readFiles, writeFiles } from './transfer/bucket-files'

export interface AgentApiDeps {
  namespace: DurableObjectNamespace<AgentObjectBase<unknown>>
  settings: Settings
  definitions: DefinitionStore
  models: ModelRegistry
  /** Reads the model providers that admins set up. */
  readConnections(): Promise<ModelConnection[]>
  /** Loads the tools of remote servers if an admin changed them. */
  refreshTools(): Promise<void>
  /** Returns the tool servers that a definition can name. */
  listServers: () => readonly string[]
  /** The hooks that a definition can switch on or off. */
  hookNames: readonly string[]
  /** Files that agents keep for one account. */
  files: PrivateFiles
  /** What programs changed in repositories. */
  patches: PatchStore
  /** Machines that run coding agents. */
  runners: RunnerControl
  /** Where definitions and files are stored. */
  bucket: R2Bucket
  clock: Clock
  lane: RecoveryLane
  hubName: string
  /** What exported traces contain. */
  otlp: OtlpOptions
  isGranted(policy: GrantPolicy, grant: string): boolean
  isTooWide(pattern: string): boolean
  hasTool(grant: string): boolean
  isToolExcluded(restrictions: ToolRestrictions, tool: string): boolean
}

/** Creates the hub's API to its agents: one Durable Object each, named by account id. */
export function createAgentApi(deps: AgentApiDeps): AgentApi {
  const { namespace, definitions, models } = deps
  const object = (agentId: AccountId) => namespace.getByName(agentId)
  return {
    wake: (agentId, maySteer) => object(agentId).wake(agentId, { maySteer }),
    cancel: (agentId, activationId) => object(agentId).cancel(activationId),
    readState: async (agentId) => object(agentId).readState(),
    readRunLog: async (agentId, activationId) => object(agentId).readRunLog(activationId),
    watch: (agentId, watched, request) => object(agentId).fetch(toWatchRequest(watched, request)),
    deleteTexts: async (agentId, request) => {
      await object(agentId).deleteTexts(request)
      await deps.patches.delete(
        agentId,
        request.runs.map(({ id }) => id),
      )
    },
    readPatch: (agentId, activationId, attempt) =>
      deps.patches.read({ agentId, activationId, attempt }),
    deleteFiles: (accountId) => deps.files.deleteAll(accountId),
    disconnect: async (agentId, tags) => object(agentId).disconnect(tags),
    announceStop: async (agentId) => object(agentId).announceStop(),
    endTurns: () => deps.lane.announceStop(),
    countSockets: async (agentId, tag) => object(agentId).countSockets(tag),
    openRun,
    findRunLogProblem,
    toOtlp: (trace) => toOtlp(trace, deps.otlp),
    checkDefinition: async (files, given) => {
      const [connections] = given
        ? [given]
        : await Promise.all([deps.readConnections(), deps.refreshTools()])
      const listModels = (choice: ModelChoice) => models.list(choice, connections)
      return checkDefinition(files, { ...deps, connections, listModels })
    },
    checkModel: async ({ name, etag }, override) => {
      const found = await definitions.read(name, etag)
      if (!found.ok) throw new AppError('INVALID_DEFINITION', found.message)
      const connections = await deps.readConnections()
      return models.resolve({ ...found.definition.brain, override }, connections).model.id
    },
    listUsableTools: async ({ name, etag }, tools) => {
      const found = await definitions.read(name, etag)
      if (!found.ok) return tools
      const { toolRestrictions } = found.definition
      return tools.filter((tool) => !deps.isToolExcluded(toolRestrictions, tool))
    },
    saveDefinition: (name, etag, files) => definitions.save(name, etag, files),
    deleteDefinition: (name, etag) => definitions.delete(name, etag),
    readDefinition: (name, etag) => definitions.readFiles(name, etag),
    templates,
    models: createModelApi({ ...deps, now: deps.clock.now }),
    sessions: createSessionApi(deps),
    privateMemory: createPrivateMemoryApi(deps),
    knowledge: createKnowledgeApi(deps),
    schedules: createSchedulesApi(deps.hubName),
    runners: deps.runners,
    transfer: createTransferApi(deps),
  }
}

const createTransferApi = ({
  namespace,
  bucket,
}: Pick<AgentApiDeps, 'namespace' | 'bucket'>): TransferApi => ({
  readObject: async (agentId) => namespace.getByName(agentId).readTables(),
  checkObject: async (agentId, content) =>
    namespace.getByName(agentId).replaceTables(agentId, content, true),
  writeObject: async (agentId, content) => {
    const refusal = await namespace.getByName(agentId).replaceTables(agentId, content, false)
    if (refusal !== null) return refusal
    // The object restarts, so that it reads what was written.
    await namespace
      .getByName(agentId)
      .restart()
      .catch(() => undefined)
    return null
  },
  readFiles: (after) => readFiles(bucket, after),
  writeFiles: (files) => writeFiles(bucket, files),
})

const createSessionApi = (deps: AgentApiDeps): SessionApi => {
  const object = (agentId: AccountId) => deps.namespace.getByName(agentId)
  return {
    list: async (agentId, sessionsMax) => object(agentId).listSessions(sessionsMax),
    read: async (agentId, id) => object(agentId).readSession(id),
    restore: async (agentId, id, snapshot) => object(agentId).restoreSession(id, snapshot),
    reset: async (agentId, id) => object(agentId).resetSession(id),
    forget: async (agentId, changed) => object(agentId).forgetRequests(changed),
    ...createSessionSummaries({
      ...deps,
      draft: async (agentId, id, recordCharsMax) =>
        object(agentId).draftCompaction(id, recordCharsMax),
    }),
    compact: async (agentId, id, summaries) => object(agentId).compactSession(id, summaries),
  }
}

const createPrivateMemoryApi = ({
  namespace,
  files,
  clock,
}: Pick<AgentApiDeps, 'namespace' | 'files' | 'clock'>): PrivateMemoryApi => ({
  list: async (agentId, owner, { before, after, limit }) => {
    const [facts, all] = await Promise.all([
      namespace.getByName(agentId).listPrivateFacts(owner, before, limit + 1),
      files.list(agentId, owner),
    ])
    const left = all.filter(({ path }) => after === null || path > after)
    return {
      facts: facts.slice(0, limit),
      hasMoreFacts: facts.length > limit,
      files: left.slice(0, limit),
      hasMoreFiles: left.length > limit,
    }
  },
  change: async (agentId, owner, item, change) => {
    if (item.kind === 'fact') {
      return namespace.getByName(agentId).changePrivateFact(owner, item.id, change)
    }
    if (change === 'share') return files.share(agentId, owner, item.path, clock.now())
    return files[change](agentId, owner, item.path)
  },
})

/** Creates the API through which people read and change the schedules of a definition. */
export const createSchedulesApi = (hubName: string): SchedulesApi => ({
  list: listSchedules,
  edit: editSchedules,
  rehearse: (files, task) => rehearse(files, task, hubName),
})

const createKnowledgeApi = ({
  namespace,
  files,
}: Pick<AgentApiDeps, 'namespace' | 'files'>): KnowledgeApi => ({
  list: async (agentId, view, { before, after, limit }) => {
    const [known, all] = await Promise.all([
      namespace.getByName(agentId).listKnowledge(view, { before, limit: limit + 1 }),
      files.listSeen(agentId, view.self, view.owners),
    ])
    const seen = all.filter(
      ({ privateTo, sharedAt }) => view.seesShared || privateTo !== null || sharedAt !== null,
    )
    const left = seen.filter(({ path }) => after === null || path > after)
    return {
      ...known,
      facts: known.facts.slice(0, limit),
      hasMoreFacts: known.facts.length > limit,
      files: left.slice(0, limit),
      hasMoreFiles: left.length > limit,
    }
  },
  change: async (agentId, view, change) => {
    if (change.kind !== 'delete_file') {
      return namespace.getByName(agentId).changeKnowledge(view, change)
    }
    const { path, isShared } = change
    return isShared && view.isManager
      ? files.deleteShared(agentId, path)
      : files.delete(agentId, view.self, path)
  },
})

/** Creates the API through which tools use the memory of the agent that calls them. */
export function createMemoryApi(namespace: AgentApiDeps['namespace']): MemoryApi {
  const object = (agentId: AccountId) => namespace.getByName(agentId)
  return {
    rememberFact: async (agentId, fact) => object(agentId).rememberFact(fact),
    forgetFact: async (agentId, fact) => object(agentId).deleteFact(fact),
    listFacts: async (agentId, query) => object(agentId).listFacts(query),
    addTask: async (agentId, task) => object(agentId).addTask(task),
    completeTask: async (agentId, task) => object(agentId).completeTask(task),
    readSkill: async (agentId, name) => object(agentId).readSkill(name),
  }
}

/**
 * Returns a function that wakes agents, which then explore if `canExplore` and no task waits. It
 * returns false when an agent could not be reached.
 */
export const createWaker =
  (namespace: AgentApiDeps['namespace'], canExplore = false) =>
  async (agentIds: AccountId[]): Promise<boolean> => {
    const all = agentIds.map((id) => namespace.getByName(id).wake(id, { canExplore }))
    return (await Promise.allSettled(all)).every(({ status }) => status === 'fulfilled')
  }
