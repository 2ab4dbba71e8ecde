import type { GrantPolicy, ModelConnection } from '../hub/contract/hub'
import type { PrivateFiles } from '../mcp-servers/contract/private-files'
import type { MemoryApi, ToolRestrictions } from '../mcp-servers/contract/tools'
import { compaction, manualCompaction, outside } from '../shared/config'
import { cutText } from '../shared/cut-text'
import { AppError } from '../shared/errors'
import type { AccountId, Clock } from '../shared/ids'
import type { Settings } from '../shared/settings'
import type { AgentObjectBase } from './agent-object'
import { buildBootstrapLayer } from './context/assemble-prompt'
import { buildSkillsLayer } from './context/skills-layer'
import { buildScheduledTask } from './context/task-layer'
import type {
  AgentApi,
  CallUsage,
  CompactionDraft,
  DefinitionFiles,
  KnowledgeApi,
  ModelApi,
  PrivateMemoryApi,
  ReplayRunner,
  RunnerControl,
  SchedulesApi,
  SessionAgent,
  SessionApi,
  SummaryResult,
  TestCost,
  TransferApi,
  TrialResult,
} from './contract/agents'
import type { Rehearsal } from './contract/definitions'
import { agentForms, editSchedules, listSchedules } from './definitions/agent-form'
import { checkDefinition, listToolsOf } from './definitions/check-definition'
import type { DefinitionStore } from './definitions/definition-store'
import { readDefinition } from './definitions/read-definition'
import { templates } from './definitions/templates'
import { composeSummaryPrompt, limitSummary } from './effects/compact'
import type { DefinitionSource } from './effects/effect-context'
import {
  type CallPlan,
  measurePromptSize,
  toCharge,
  toFailureCharge,
  worstCaseReservation,
} from './effects/price-call'
import { findCallsMax } from './loop/admit-calls'
import type { Charge } from './loop/event'
import type { Message, ModelFailure } from './loop/message'
import type { Model, ModelChoice, ModelRegistry, Prices } from './models/model-port'
import { createOfflineModel } from './models/offline/offline-model'
import { searchTool } from './models/offline/parse-task'
import { createPriceFinder, listAuto, listPrices, listProviders } from './models/registry'
import type { RecoveryLane } from './recovery'
import { toWatchRequest } from './run/live-stream'
import { type OtlpOptions, toOtlp } from './run/otlp'
import { findRunLogProblem, openRun } from './run/record'
import type { PatchStore } from './storage/patch-store'
import { readFiles, writeFiles } from './storage/transfer'

interface AgentApiDeps {
  namespace: DurableObjectNamespace<AgentObjectBase<unknown>>
  settings: Settings
  definitions: DefinitionStore
  models: ModelRegistry
  /** Reads the model providers that admins set up. */
  readConnections(): Promise<ModelConnection[]>
  /** Loads the tools of remote servers if an admin changed them. */
  refreshTools(): Promise<number>
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
  replays: ReplayRunner
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
      const [connections, toolsVersion] = given
        ? [given]
        : await Promise.all([deps.readConnections(), deps.refreshTools()])
      const listModels = (choice: ModelChoice) => models.list(choice, connections)
      const check = await checkDefinition(files, { ...deps, connections, listModels })
      return check.ok && toolsVersion !== undefined ? { ...check, toolsVersion } : check
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
    listToolsOf: (files, tools) => listToolsOf(files, tools, deps.isToolExcluded),
    saveDefinition: (name, etag, files) => definitions.save(name, etag, files),
    deleteDefinition: (name, etag) => definitions.delete(name, etag),
    readDefinition: (name, etag) => definitions.readFiles(name, etag),
    templates,
    models: createModelApi({ ...deps, now: deps.clock.now }),
    sessions: createSessionApi(deps),
    privateMemory: createPrivateMemoryApi(deps),
    knowledge: createKnowledgeApi(deps),
    schedules: createSchedulesApi(deps.hubName),
    forms: agentForms,
    runners: deps.runners,
    replays: deps.replays,
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
  rehearse: (files, schedule) => rehearse(files, schedule, hubName),
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

interface ModelApiDeps {
  settings: Settings
  models: ModelRegistry
  now: () => number
}

const messages: Message[] = [{ role: 'user', text: 'Reply with the word OK.' }]

/** Enough for a short answer of a model that thinks first; an answer that is truncated proves as much. */
const outputTokensMax = 64

const textCharsMax = 200

/** Creates the API of model providers and of calls that test one. */
export function createModelApi({ settings, models, now }: ModelApiDeps): ModelApi {
  const plan = (override: string, connections: readonly ModelConnection[]): CallPlan => {
    const usable = connections.map((each) => ({ ...each, keyProblem: null }))
    const { model } = models.resolve({ override }, usable)
    const maxOutputTokens = Math.min(outputTokensMax, model.outputTokensMax)
    const signal = AbortSignal.timeout(outside.timeoutMs)
    const request = { messages, tools: [], maxOutputTokens, signal }
    return { model, request, ...measurePromptSize({ messages, tools: [] }) }
  }
  return {
    listProviders(connections) {
      const findPrices = createPriceFinder(settings, connections)
      return listProviders(settings, connections).map((state) => {
        const { provider, defaultModel } = state
        if (defaultModel === null) return { ...state, testCost: null }
        const prices = findPrices(provider, defaultModel)
        return { ...state, testCost: measureTest(`${provider}/${defaultModel}`, prices) }
      })
    },
    listAuto: (connections) => listAuto({ settings, connections }),
    listPrices: (connections) => listPrices(settings, connections),
    findPrices(provider, names, connections) {
      const find = createPriceFinder(settings, connections)
      return names.map((name) => find(provider, name))
    },

    planTrial(name, connections) {
      const call = plan(name, connections)
      const worst = worstCaseReservation(call, call.request.maxOutputTokens)
      return { model: call.model.id, ...worst }
    },

    async tryModel(name, connections) {
      const call = plan(name, connections)
      const startedAt = now()
      const result = await call.model.call(call.request)
      const durationMs = now() - startedAt
      if (result.ok) {
        const usage = toUsage(toCharge(call, result.answer, durationMs))
        const text = result.answer.text.trim().slice(0, textCharsMax)
        return { usage, durationMs, text, failure: null, problem: null }
      }
      const charge = toFailureCharge(call, result.failure, durationMs)
      const { message, detail } = result.failure
      const failure = detail ? `${message} The provider wrote: ${detail}` : message
      const problem = keyProblems[result.failure.code] ?? 'failed'
      return { usage: charge && toUsage(charge), durationMs, text: '', failure, problem }
    },
  }
}

/** What a failure says of the key that the call was made with; `failed` for any other. */
const keyProblems: Partial<Record<ModelFailure['code'], TrialResult['problem']>> = {
  PROVIDER_AUTH: 'refused',
  PROVIDER_BUSY: 'busy',
  NETWORK: 'unreachable',
  TIMEOUT: 'unreachable',
}

/** Returns the most that a test call takes. */
function measureTest(id: string, prices: Prices | null): TestCost {
  const request = { maxOutputTokens: outputTokensMax }
  const call = { model: { id, prices }, request, ...measurePromptSize({ messages, tools: [] }) }
  const { tokens, microusd } = worstCaseReservation(call, outputTokensMax)
  return { tokens, microusd: prices && microusd }
}

/** Returns a charge as the hub takes the usage of a single call. */
const toUsage = (charge: Charge): CallUsage => ({
  inputTokens: charge.inputTokens,
  cachedTokens: charge.cachedTokens,
  outputTokens: charge.outputTokens,
  reasoningTokens: charge.reasoningTokens,
  microusd: charge.microusd,
  isPriced: charge.isPriced,
  isEstimated: charge.isEstimated,
  durationMs: charge.durationMs,
})

interface SummaryDeps {
  definitions: DefinitionSource
  models: Pick<ModelRegistry, 'resolve'>
  clock: Clock
  /** Reads from the agent's object what a compaction replaces. */
  draft(agentId: AccountId, id: string, recordCharsMax: number): Promise<CompactionDraft | null>
}

type Part = CompactionDraft['parts'][number]

/** Creates the part of the sessions' API that asks the agent's model for a summary. */
function createSessionSummaries(deps: SummaryDeps): Pick<SessionApi, 'planSummary' | 'summarize'> {
  const { draft: readDraft, clock } = deps
  return {
    async planSummary(agent, id, connections) {
      const found = await findModel(deps, agent, connections)
      const charsMax = found.model
        ? limitSummary(found.model).recordCharsMax
        : compaction.recordCharsMax
      const draft = await readDraft(agent.id, id, charsMax)
      if (!draft) return null
      if (draft.parts.length === 0) return { kind: 'extract', reason: null }
      const { model } = found
      if (!model) return { kind: 'extract', reason: found.reason }
      const worst = draft.parts.map((part) => {
        const call = planCall(model, part, neverAborted)
        return worstCaseReservation(call, call.request.maxOutputTokens)
      })
      return {
        kind: 'model',
        model: model.id,
        draft,
        microusd: worst.reduce((sum, { microusd }) => sum + microusd, 0),
        tokens: worst.reduce((sum, { tokens }) => sum + tokens, 0),
      }
    },

    async summarize(agent, { revision, parts }, connections) {
      const result: SummaryResult = { revision, texts: [], usages: [], failure: null }
      const { model, reason } = await findModel(deps, agent, connections)
      if (!model) return { ...result, failure: reason }
      const signal = AbortSignal.timeout(manualCompaction.timeoutMs)
      for (const part of parts) {
        const failure = await summarizePart(planCall(model, part, signal), part, clock, result)
        if (failure !== null) return { ...result, failure }
      }
      return result
    },
  }
}

const neverAborted = new AbortController().signal

/** Returns the model of an agent; null, with the reason, when it can write no summaries. */
async function findModel(
  { definitions, models }: SummaryDeps,
  { name, etag }: SessionAgent,
  connections: readonly ModelConnection[],
): Promise<{ model: Model | null; reason: string }> {
  const found = await definitions.read(name, etag)
  if (!found.ok) return { model: null, reason: found.message }
  const { model } = models.resolve(found.definition.brain, connections)
  return { model: model.isOffline ? null : model, reason: 'The offline model writes no summaries.' }
}

function planCall(model: Model, { record, summaryCharsMax }: Part, signal: AbortSignal): CallPlan {
  const messages = composeSummaryPrompt(record, summaryCharsMax)
  const maxOutputTokens = limitSummary(model).outputTokensMax
  const request = { messages, tools: [], maxOutputTokens, signal }
  return { model, request, ...measurePromptSize({ messages, tools: [] }) }
}

/** Adds the summary of a part to the result, with what the call took. Returns why there is none; null when there is. */
async function summarizePart(
  call: CallPlan,
  { owner, summaryCharsMax }: Part,
  clock: Clock,
  result: SummaryResult,
): Promise<string | null> {
  const startedAt = clock.now()
  const answered = await call.model.call(call.request)
  const durationMs = clock.now() - startedAt
  if (!answered.ok) {
    const charge = toFailureCharge(call, answered.failure, durationMs)
    if (charge) result.usages.push(toUsage(charge))
    return answered.failure.message
  }
  result.usages.push(toUsage(toCharge(call, answered.answer, durationMs)))
  const text = cutText(answered.answer.text.trim(), summaryCharsMax)
  if (text === '') return 'The model wrote no summary.'
  result.texts.push({ owner, text })
  return null
}

const skillCharsMax = 20_000

/**
 * Composes the prompt of a scheduled run and asks the offline model for its first step. The prompt lacks what
 * only a run has: memory, history and the guide to its tools. Null for files that are not valid.
 */
async function rehearse(
  files: DefinitionFiles,
  { task, savedBy }: { task: string; savedBy: string },
  hubName: string,
): Promise<Rehearsal | null> {
  const read = readDefinition(files)
  if (!read.ok) return null
  const { name, systemPrompt, skills, limits } = read.definition
  const words = { words: task, community: null }
  const texts: [Message['role'] & ('system' | 'user'), string | null][] = [
    ['system', systemPrompt],
    ['system', buildBootstrapLayer({ agent: { name } }, hubName)],
    ['system', buildSkillsLayer(skills, words, skillCharsMax)],
    ['user', buildScheduledTask(task, savedBy)],
  ]
  const messages = texts.flatMap(([role, text]) => (text === null ? [] : [{ role, text }]))
  const outcome = await createOfflineModel().call({
    messages,
    tools: [{ name: searchTool, description: '', inputSchema: {} }],
    maxOutputTokens: 4_096,
    signal: new AbortController().signal,
  })
  if (!outcome.ok) return null
  const [call] = outcome.answer.calls
  return {
    prompt: messages,
    stepsMax: limits.iterations,
    toolCallsMax: findCallsMax(limits),
    firstStep: call
      ? { tool: call.name, arguments: call.arguments }
      : { answer: outcome.answer.text },
  }
}
