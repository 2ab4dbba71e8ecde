import { waitUntil } from 'cloudflare:workers'
import { createAgentApi, createMemoryApi, createWaker } from './agents/agent-api'
import type { AgentDeps } from './agents/agent-deps'
import type { SchedulerApi } from './agents/contract/agents'
import { createDefinitionStore, type DefinitionStore } from './agents/definitions/definition-store'
import { createPatchStore } from './agents/executors/patch-store'
import { createHookRunner } from './agents/hooks/hook-runner'
import { hooks } from './agents/hooks/hooks'
import type { createModelGateway } from './agents/model-gateway/create-model-gateway'
import { createModelRegistry } from './agents/models/registry'
import { RecoveryLane } from './agents/recovery'
import { createRunnerApi, createRunnerControl } from './agents/runners/runner-api'
import { createSchedulerApi } from './agents/scheduler/scheduler-api'
import type { SchedulerDeps } from './agents/scheduler/scheduler-shell'
import { explorationFloor } from './agents/scheduler/shares'
import { restrictObjects } from './compose-jurisdiction'
import { createExporter, createOperatorLog, reportHook, toOtlpOptions } from './compose-log'
import { createOutside, readVariable } from './compose-outside'
import { createModelHandler, createRunnersDeps, getCodingAgent } from './compose-runners'
import { createHubApi } from './hub/api/hub-api'
import { createRunAttemptApi } from './hub/api/run-attempt-api'
import { createHub } from './hub/app'
import { createArchiveStore } from './hub/archive/archive-store'
import type { HubApi, SweepApi } from './hub/contract/hub'
import type { HubDeps } from './hub/http/hub-env'
import { mountModules } from './hub/http/mount-modules'
import { createLivePublisher } from './hub/live/live-publisher'
import { maskCredentials } from './hub/posts/credential-patterns'
import { createRateLimiter, type PlatformLimits } from './hub/rate-limits/rate-limiter'
import { adminRoutes } from './mcp-servers/admin/admin-routes'
import { createAdminRoutes } from './mcp-servers/admin/create-admin-routes'
import { createToolAdmin } from './mcp-servers/admin/create-tool-admin'
import { createCredentialForms, credentialFormPaths } from './mcp-servers/admin/credential-forms'
import {
  connectCallbackPath,
  createConnectCallback,
} from './mcp-servers/connected-accounts/create-callback'
import type { ToolRestrictions } from './mcp-servers/contract/tools'
import { createGateway } from './mcp-servers/gateway/create-gateway'
import { isGranted, isToolExcluded } from './mcp-servers/gateway/decide'
import { listKnownTools } from './mcp-servers/gateway/list-known-tools'
import type { createToolRegistry } from './mcp-servers/gateway/tool-registry'
import { createGitRoutes } from './mcp-servers/git-proxy/create-git-routes'
import { createMcpRoutes } from './mcp-servers/outside/create-mcp-routes'
import { createRemotes } from './mcp-servers/remote/remotes'
import { servers } from './mcp-servers/servers'
import { createPrivateFiles } from './mcp-servers/storage/private-files'
import { createResultStore } from './mcp-servers/storage/result-store'
import { createWorkspaces } from './mcp-servers/storage/workspace'
import type { ToolServer } from './mcp-servers/tool/define-tool'
import { run } from './shared/db/batch'
import { createDb } from './shared/db/db'
import { type AccountId, systemClock } from './shared/ids'
import type { Log } from './shared/log'
import { readSettings, type Settings } from './shared/settings'
import { sendRefusalPage } from './web/frame/send-page'
import { registerPages } from './web/register-pages'

/**
 * Creates the app and its dependencies from the bindings, once per isolate. This file is the
 * composition root: the only one that imports all modules, and it contains no logic of its own.
 */
export function composeApp(bindings: Env) {
  const env = restrictObjects(bindings)
  const settings = readSettings({ ...env })
  const clock = systemClock
  const outside = createOutside(env, settings)
  const { log, redact } = createOperatorLog(env, settings, outside.known.text)
  const live = createLivePublisher(env.LIVE)
  const models = createModelRegistry(settings, {
    readKey: (name) => readVariable(env, name),
    access: outside.modelAccess,
  })
  const definitions = createDefinitionStore(env.FILES)
  const { registry } = outside
  const tools = listKnownTools(registry)
  const readConnections = () => run(outside.db, outside.modelStore.selectConnections())
  const lane = new RecoveryLane(clock)
  const agents = createAgents(env, settings, {
    ...{ definitions, models, registry, tools, readConnections, lane },
    refreshTools: outside.catalogue.refreshToLatest,
  })
  const scheduler = createSchedulerApi(env.SCHEDULER)
  const shared = {
    ...{ settings, clock, agents, scheduler, live, push: outside.push, tools, log },
    ...{ hookSecrets: outside.hookSecrets, models: outside.modelStore },
    connected: outside.accounts,
    archive: createArchiveStore(env.FILES),
  }
  const openContext = () => ({
    ...shared,
    db: createDb(env.DB),
    defer: (work: Promise<unknown>) => void work.catch(() => undefined),
  })
  const hub = createHubApi(openContext)
  const readToolRestrictions = createRestrictionsReader(definitions)
  const openGateway = (tools: ToolServer[]) =>
    createToolGateway(env, { ...outside, servers: tools }, hub, log)
  const gateway = openGateway(servers)
  const remotes = createRemotes({ ...outside, clock, hub, log })
  const toolAdmin = createToolAdmin({ ...outside, remotes, hub })
  const modelAdmin = outside.createModelAdmin(hub)
  const app = createHub({
    ...shared,
    binding: env.DB,
    ...createEntry(env, outside.tokens),
    moduleRoutes: adminRoutes,
    pages: (root, routes) =>
      registerPages(root, routes, { toolAdmin, modelAdmin, accounts: outside.accounts }),
    mounts: createMounts(env, {
      ...outside,
      ...shared,
      gateway,
      openGateway,
      hub,
      remotes,
      modelAdmin,
      readToolRestrictions,
      models: createModelHandler(env, { ...outside, hub, models }),
    }),
  })
  const agentDeps = createAgentDeps(settings, {
    ...{ hub, tools: gateway, models, runners: createRunnerApi(env.RUNNERS), definitions },
    ...{ log, redact, patches: createPatchStore(env.FILES), lane },
    wakeAgents: createReliableWaker(env, scheduler, settings.ROOKERY_MAX_CONCURRENT),
  })
  const schedulerDeps = createSchedulerDeps(env, settings, hub, gateway.closeIdle)
  const { tokens } = outside
  const attempts = createRunAttemptApi(openContext)
  const runnersDeps = createRunnersDeps(env, { tokens, attempts, readToolRestrictions, log })
  return { app, scheduler, agentDeps, schedulerDeps, runnersDeps }
}

const createAgentDeps = (
  settings: Settings,
  {
    redact,
    ...deps
  }: Pick<
    AgentDeps,
    | 'hub'
    | 'tools'
    | 'models'
    | 'runners'
    | 'patches'
    | 'definitions'
    | 'wakeAgents'
    | 'log'
    | 'lane'
  > & {
    redact: (text: string) => string
  },
): AgentDeps => ({
  ...deps,
  hooks: createHookRunner(hooks, {
    ...{ redact, now: systemClock.now, report: reportHook(deps.log) },
  }),
  clock: systemClock,
  hubName: settings.ROOKERY_NAME,
  mask: (text) => maskCredentials(text, settings),
  ...createExporter(settings, deps.log, redact),
  random: Math.random,
  approvalWaitMs: settings.ROOKERY_APPROVAL_WAIT_SECONDS * 1000,
  capacity: settings.ROOKERY_MAX_CONCURRENT,
  explorationFloor: explorationFloor(settings.ROOKERY_SCHEDULING, settings.ROOKERY_MAX_CONCURRENT),
})

/** Creates the gateway of some servers and the remote ones. */
const createToolGateway = (
  env: Env,
  {
    servers,
    catalogue,
    connect,
    toolTimeoutMs,
  }: Pick<ReturnType<typeof createOutside>, 'catalogue' | 'connect' | 'toolTimeoutMs'> & {
    servers: ToolServer[]
  },
  hub: HubApi,
  log: Log,
) =>
  createGateway({
    hub,
    memory: createMemoryApi(env.AGENTS),
    workspaceOf: createWorkspaces(env.FILES),
    results: createResultStore(env.FILES, systemClock),
    clock: systemClock,
    servers,
    remote: catalogue,
    connect,
    toolTimeoutMs,
    reportFailure: (tool, error) => log.warn('tool failed', { tool, error }),
  })

/** Creates the API of agents, for definitions that use the registered servers, tools and hooks. */
const createAgents = (
  env: Env,
  settings: Settings,
  deps: Pick<
    Parameters<typeof createAgentApi>[0],
    'definitions' | 'models' | 'readConnections' | 'refreshTools' | 'lane'
  > & {
    registry: ReturnType<typeof createToolRegistry>
    tools: ReturnType<typeof listKnownTools>
  },
) =>
  createAgentApi({
    namespace: env.AGENTS,
    settings,
    definitions: deps.definitions,
    lane: deps.lane,
    models: deps.models,
    readConnections: deps.readConnections,
    refreshTools: deps.refreshTools,
    listServers: () => deps.registry.servers().map(({ name }) => name),
    hookNames: hooks.map(({ name }) => name),
    isGranted,
    isTooWide: deps.tools.isTooWide,
    hasTool: deps.tools.hasToolForPattern,
    isToolExcluded,
    files: createPrivateFiles(env.FILES),
    bucket: env.FILES,
    patches: createPatchStore(env.FILES),
    runners: createRunnerControl(env.RUNNERS),
    clock: systemClock,
    hubName: settings.ROOKERY_NAME,
    otlp: toOtlpOptions(settings),
  })

/**
 * Returns a function that wakes agents, but no more than may run; when one cannot be reached or some are left, it arms
 * the scheduler's sweep.
 */
function createReliableWaker(
  env: Env,
  scheduler: SchedulerApi,
  capacity: number,
): AgentDeps['wakeAgents'] {
  const wake = createWaker(env.AGENTS)
  return async (agentIds) => {
    const isDone = await wake(agentIds.slice(0, capacity))
    if (!isDone || agentIds.length > capacity) await scheduler.arm().catch(() => null)
  }
}

/** Returns the routes of other modules on the hub's origin: MCP, and the admin API and forms of tools. */
function createMounts(
  env: Env,
  deps: Omit<Parameters<typeof createMcpRoutes>[0], 'defer' | 'noteToolsListed' | 'findRecorder'> &
    Omit<Parameters<typeof createGitRoutes>[0], 'defer' | 'findRecorder'> &
    Omit<Parameters<typeof createAdminRoutes>[0], 'reportFailure'> &
    Omit<Parameters<typeof createConnectCallback>[0], 'reportFailure'> & {
      log: Log
      models: ReturnType<typeof createModelGateway>
    },
): NonNullable<HubDeps['mounts']> {
  const findRecorder = (agentId: AccountId) => getCodingAgent(env, agentId)
  const mcp = createMcpRoutes({
    ...deps,
    defer: waitUntil,
    noteToolsListed: (agentId, id, attempt) =>
      getCodingAgent(env, agentId).noteToolsListed(id, attempt),
    findRecorder,
  })
  const git = createGitRoutes({ ...deps, defer: waitUntil, findRecorder })
  const reportFailure = (error: unknown) => deps.log.error('request failed', { error })
  const admin = createAdminRoutes({ ...deps, reportFailure })
  const forms = createCredentialForms({ ...deps, reportFailure })
  const callback = createConnectCallback({ ...deps, reportFailure })
  return mountModules({
    ...{ mcp, git, models: deps.models, admin, adminRoutes, forms, formPaths: credentialFormPaths },
    ...{ callback, callbackPath: connectCallbackPath },
  })
}

const createRestrictionsReader =
  (definitions: DefinitionStore) =>
  async (agent: string, etag: string): Promise<ToolRestrictions | null> => {
    const found = await definitions.read(agent, etag)
    return found.ok ? found.definition.toolRestrictions : null
  }

/** Creates what counts and refuses requests before their routes run. */
const createEntry = (
  { MACHINE, ...env }: Env & { MACHINE?: Fetcher },
  tokens: ReturnType<typeof createOutside>['tokens'],
): Pick<HubDeps, 'rateLimiter' | 'findTokenHolder' | 'renderErrorPage' | 'readMachine'> => ({
  rateLimiter: createRateLimiter(env.RATE_COUNTERS, findPlatformLimits(env)),
  findTokenHolder: async (token) =>
    (await tokens.read(token, systemClock.now()))?.accountId ?? null,
  renderErrorPage: sendRefusalPage,
  // `npm start` binds it.
  readMachine: MACHINE && (async () => (await MACHINE.fetch('http://machine/')).json()),
})

/** Returns the platform's rate limiters. `npm start` binds none: each call of one costs a millisecond. */
const findPlatformLimits = (env: Partial<Env>): PlatformLimits => ({
  ...(env.RATE_READ && { read: env.RATE_READ }),
  ...(env.RATE_WRITE && { write: env.RATE_WRITE }),
  ...(env.RATE_SEARCH && { search: env.RATE_SEARCH }),
  ...(env.RATE_UPLOAD && { upload: env.RATE_UPLOAD }),
  ...(env.RATE_CONNECT && { connect: env.RATE_CONNECT }),
})

const createSchedulerDeps = (
  env: Env,
  settings: Settings,
  hub: SweepApi,
  closeIdle: () => Promise<void>,
): SchedulerDeps => ({
  hub,
  closeIdle,
  wake: createWaker(env.AGENTS),
  offerExplorations: createWaker(env.AGENTS, true),
  clock: systemClock,
  mode: settings.ROOKERY_SCHEDULING,
  capacity: settings.ROOKERY_MAX_CONCURRENT,
})
