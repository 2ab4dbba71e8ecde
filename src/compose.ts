import { waitUntil } from 'cloudflare:workers'
import * as z from 'zod'
import { createAgentApi, createMemoryApi, createWaker } from './agents/agent-api'
import type { SchedulerApi } from './agents/contract/agents'
import type { ModelRequestArbiter, RunReceiver } from './agents/contract/coding-agents'
import { createDefinitionStore, type DefinitionStore } from './agents/definitions/definition-store'
import type { AgentDeps } from './agents/effects/effect-context'
import type { HookTiming } from './agents/hooks/hook'
import { createHookRunner, listImpureHooks } from './agents/hooks/hook-runner'
import { hooks } from './agents/hooks/hooks'
import {
  createModelGateway,
  type ModelGatewayDeps,
} from './agents/model-gateway/create-model-gateway'
import { createModelRegistry, listModelAddresses } from './agents/models/registry'
import { RecoveryLane } from './agents/recovery'
import type { ReplayDeps } from './agents/replay/lane-deps'
import { createReplayRunner } from './agents/replay/replay-object'
import { createOtlpExporter } from './agents/run/otlp'
import type { RunnersDeps } from './agents/runners/run-dispatcher'
import { createRunnerApi, createRunnerControl } from './agents/runners/runners-object'
import { explorationFloor } from './agents/scheduler/explain'
import { createSchedulerApi } from './agents/scheduler/scheduler-object'
import type { SchedulerDeps } from './agents/scheduler/scheduler-shell'
import { createPatchStore } from './agents/storage/patch-store'
import { createHubApi, createModelTestApi, createRunAttemptApi } from './hub/api/hub-api'
import { createHub } from './hub/app'
import type { HubApi, RunAttemptApi, SweepApi } from './hub/contract/hub'
import type { HubDeps } from './hub/http/hub-env'
import { mountModules } from './hub/http/mount-routes'
import { createRateLimiter, type PlatformLimits } from './hub/http/rate-limiter'
import { createLivePublisher } from './hub/live/live-publisher'
import { createMediaStore } from './hub/media/media-store'
import { createArchiveStore } from './hub/operations/archive-format'
import { maskCredentials } from './hub/rules/credential-patterns'
import { adminRoutes } from './mcp-servers/admin/admin-routes'
import { createAdminRoutes } from './mcp-servers/admin/create-admin-routes'
import { createToolAdmin } from './mcp-servers/admin/create-tool-admin'
import { createCredentialForms, credentialFormPaths } from './mcp-servers/admin/credential-forms'
import {
  connectCallbackPath,
  createConnectCallback,
} from './mcp-servers/connected-accounts/connect'
import { createConnectedAccounts } from './mcp-servers/connected-accounts/connected-accounts'
import type { ProgramCallRecorder } from './mcp-servers/contract/program-calls'
import type { ToolRestrictions } from './mcp-servers/contract/tools'
import { createCipher } from './mcp-servers/credentials/cipher'
import { createConnect } from './mcp-servers/credentials/connect'
import { createRecentSecrets } from './mcp-servers/credentials/scrub'
import { createVault } from './mcp-servers/credentials/vault'
import { createPrivateRule } from './mcp-servers/fetch/check-url'
import { createResolver } from './mcp-servers/fetch/resolve-over-https'
import { createGateway } from './mcp-servers/gateway/create-gateway'
import { isGranted, isToolExcluded } from './mcp-servers/gateway/decide'
import { listKnownTools } from './mcp-servers/gateway/known-tools'
import { createToolRegistry } from './mcp-servers/gateway/registry'
import { createGitRoutes } from './mcp-servers/git-proxy/create-git-routes'
import type { AiBinding } from './mcp-servers/models/ai-binding'
import { createModelAccess } from './mcp-servers/models/model-access'
import { createModelAdmin } from './mcp-servers/models/model-admin'
import { createModelKind, createModelStore } from './mcp-servers/models/model-store'
import { modelServer } from './mcp-servers/models/queries'
import { createMailSender } from './mcp-servers/outbox/mail-sender'
import { createWebhookSender } from './mcp-servers/outbox/webhook-sender'
import { createActivationTokens } from './mcp-servers/outside/activation-token'
import { findTokenActivation } from './mcp-servers/outside/authenticate-caller'
import { createRunAuthorizer } from './mcp-servers/outside/authorize-run'
import { createMcpRoutes } from './mcp-servers/outside/create-mcp-routes'
import { createPushSender } from './mcp-servers/push-sender'
import { createCatalogue, remoteServices } from './mcp-servers/remote/catalogue'
import { createRemotes } from './mcp-servers/remote/remotes'
import { namedServers, servers } from './mcp-servers/servers'
import { toServiceKinds } from './mcp-servers/services/check-service'
import { createServices } from './mcp-servers/services/services'
import { createPrivateFiles } from './mcp-servers/storage/private-files'
import { createResultStore } from './mcp-servers/storage/result-store'
import { createWorkspaces } from './mcp-servers/storage/workspace'
import type { ToolServer } from './mcp-servers/tool/define-tool'
import { createTriggerSecrets } from './mcp-servers/triggers'
import { run } from './shared/db/batch'
import { createDb } from './shared/db/db'
import { type AccountId, type ActivationId, systemClock } from './shared/ids'
import { areLoopbackOrigins } from './shared/ip-address'
import { createLog, createRedactor, findSecrets, type Log } from './shared/log'
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
  const replays = createReplayRunner(env.REPLAYS, { settings, models })
  const agents = createAgents(env, settings, {
    definitions,
    models,
    registry,
    tools,
    readConnections,
    lane,
    replays,
    refreshTools: outside.catalogue.refreshToLatest,
  })
  const scheduler = createSchedulerApi(env.SCHEDULER)
  const shared = {
    settings,
    clock,
    agents,
    scheduler,
    live,
    push: outside.push,
    tools,
    log,
    models: outside.modelStore,
    triggerSecrets: outside.triggerSecrets,
    webhooks: outside.webhooks,
    mail: outside.mail,
    connected: outside.accounts,
    archive: createArchiveStore(env.FILES),
    media: createMediaStore(env.FILES),
  }
  const openContext = () => ({
    ...shared,
    db: createDb(env.DB),
    defer: (work: Promise<unknown>) => void work.catch(() => undefined),
  })
  const hub = createHubApi(openContext)
  outside.catalogue.onChange(hub.refreshWarnings)
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
      registerPages(root, routes, {
        toolAdmin,
        modelAdmin,
        accounts: outside.accounts,
        docs: env.DOCS,
      }),
    mounts: createMounts(env, {
      ...outside,
      ...shared,
      gateway,
      openGateway,
      hub,
      remotes,
      modelAdmin,
      modelTests: createModelTestApi(openContext),
      readToolRestrictions,
      models: createModelHandler(env, { ...outside, hub, models }),
    }),
  })
  const agentDeps = createAgentDeps(settings, {
    hub,
    tools: gateway,
    models,
    runners: createRunnerApi(env.RUNNERS),
    definitions,
    log,
    redact,
    patches: createPatchStore(env.FILES),
    lane,
    media: createMediaStore(env.FILES),
    wakeAgents: createReliableWaker(env, scheduler, settings.ROOKERY_MAX_CONCURRENT),
  })
  const replayDeps = createReplayDeps({
    agent: agentDeps,
    replays: hub,
    readConnections,
    redact,
    startLanes: async (ids) => void (await Promise.allSettled(ids.map(replays.wakeLane))),
  })
  const schedulerDeps = createSchedulerDeps(env, settings, hub, gateway.closeIdle)
  const { tokens } = outside
  const attempts = createRunAttemptApi(openContext)
  const runnersDeps = createRunnersDeps(env, { tokens, attempts, readToolRestrictions, log })
  return { app, scheduler, agentDeps, replayDeps, schedulerDeps, runnersDeps }
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
    | 'media'
    | 'wakeAgents'
    | 'log'
    | 'lane'
  > & {
    redact: (text: string) => string
  },
): AgentDeps => ({
  ...deps,
  hooks: createHookRunner(hooks, {
    redact,
    now: systemClock.now,
    report: reportHook(deps.log),
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

/** Creates the dependencies of the objects of replays: those of agents, with the hooks that nobody else notices. */
function createReplayDeps({
  redact,
  ...deps
}: Pick<ReplayDeps, 'agent' | 'replays' | 'readConnections' | 'startLanes'> & {
  redact: (text: string) => string
}): ReplayDeps {
  const pure = hooks.filter(({ isPure }) => isPure)
  return {
    ...deps,
    hooks: createHookRunner(pure, {
      redact,
      now: systemClock.now,
      report: reportHook(deps.agent.log),
    }),
    listImpureHooks: (switches) => listImpureHooks(hooks, switches),
  }
}

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
    'definitions' | 'models' | 'readConnections' | 'refreshTools' | 'lane' | 'replays'
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
    replays: deps.replays,
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
    Omit<Parameters<typeof createConnectCallback>[0], 'reportFailure'> &
    Pick<Parameters<typeof createCredentialForms>[0], 'modelTests'> & {
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
    mcp,
    git,
    models: deps.models,
    admin,
    adminRoutes,
    forms,
    formPaths: credentialFormPaths,
    callback,
    callbackPath: connectCallbackPath,
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
  env: Env & { MACHINE?: Fetcher },
  tokens: ReturnType<typeof createOutside>['tokens'],
): Pick<HubDeps, 'rateLimiter' | 'findTokenHolder' | 'renderErrorPage' | 'readMachine'> => ({
  rateLimiter: createRateLimiter(env.RATE_COUNTERS, findPlatformLimits(env)),
  findTokenHolder: async (token) =>
    (await tokens.read(token, systemClock.now()))?.accountId ?? null,
  renderErrorPage: sendRefusalPage,
  // `npm start` binds it.
  readMachine: env.MACHINE && (() => readMachine(env, '')),
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

/** Creates external services and their credentials, which `src/hub` never receives. */
function createOutside(env: Env & { MACHINE?: Fetcher; AI?: AiBinding }, settings: Settings) {
  const key = settings.ROOKERY_VAULT_KEY
  const keys = key ? [key, ...(settings.ROOKERY_VAULT_OLD_KEYS ?? [])] : []
  const cipher = createCipher(keys)
  const readSecret = (name: string) => readVariable(env, name)
  const base = {
    db: createDb(env.DB),
    clock: systemClock,
    kinds: toServiceKinds([...namedServers, { name: 'remote', services: remoteServices }]),
    isPrivateAllowed: settings.ROOKERY_ALLOW_PRIVATE_SERVICES,
    toolTimeoutMs: readToolTimeout(settings),
  }
  const { toolTimeoutMs } = base
  const catalogue = createCatalogue({ ...base, cipher })
  const known = createRecentSecrets()
  const vault = createVault({ ...base, cipher, readVariable: readSecret })
  const dns = settings.ROOKERY_DNS_OVER_HTTPS
  const resolve = dns === 'off' ? undefined : createResolver(dns)
  const linkage = { cipher, resolve, hubName: settings.ROOKERY_NAME }
  const accounts = createConnectedAccounts({ ...base, ...linkage })
  const isOwn = isOwnMachine(env, settings)
  const readers = { cipher, readVariable: readSecret, known, resolve }
  return {
    db: base.db,
    isPrivateAllowed: base.isPrivateAllowed,
    ...linkage,
    vault,
    known,
    ...createModelKeys(settings, {
      ...base,
      ...readers,
      canReachPrivate: createPrivateRule({ ...base, isOwnMachine: isOwn }),
      ai: env.AI,
      searchMachine: isOwn ? () => readMachine(env, 'models') : undefined,
    }),
    accounts,
    tokens: createActivationTokens(keys),
    catalogue,
    toolTimeoutMs,
    registry: createToolRegistry(namedServers, catalogue),
    services: createServices({
      ...base,
      canReachPrivate: createPrivateRule({ ...base, isOwnMachine: false }),
      bindCredentials: vault.bind,
    }),
    push: createPushSender({
      vaultKeys: keys,
      origins: settings.ROOKERY_ORIGIN ?? [],
      resolve,
    }),
    mail: createMailSender({ settings, vaultKeys: keys, resolve }),
    webhooks: createWebhookSender({ cipher, clock: systemClock, resolve }),
    triggerSecrets: createTriggerSecrets(keys),
    connect: createConnect({ ...base, vault, known, resolve, ownAccounts: accounts }),
  }
}

/** Asks the launcher of `npm start`. */
const readMachine = async <Answer>(
  { MACHINE }: { MACHINE?: Fetcher },
  path: string,
): Promise<Answer> => {
  if (!MACHINE) throw new Error('No launcher answers here.')
  return (await MACHINE.fetch(`http://machine/${path}`)).json()
}

/**
 * Whether the hub runs on the machine of the people who use it: `npm start` runs it there and binds MACHINE, and it has
 * no address for others.
 */
export const isOwnMachine = (env: { MACHINE?: Fetcher }, { ROOKERY_ORIGIN }: Settings): boolean =>
  env.MACHINE !== undefined && areLoopbackOrigins(ROOKERY_ORIGIN)

/** Returns the time in milliseconds that the operator gives to tool calls. */
const readToolTimeout = ({
  ROOKERY_TOOL_TIMEOUT_SECONDS: seconds,
}: Settings): number | undefined => (seconds === undefined ? undefined : seconds * 1000)

/** Returns a variable of the environment. */
function readVariable(env: Env, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name)
  return typeof value === 'string' ? value : undefined
}

/** Creates the store of model providers that admins set up, and what sends calls with their keys. */
function createModelKeys(
  settings: Settings,
  deps: Omit<Parameters<typeof createVault>[0], 'kinds'> &
    Omit<Parameters<typeof createModelAccess>[0], 'vault'> &
    Pick<Parameters<typeof createModelAdmin>[0], 'searchMachine'>,
) {
  const addresses = listModelAddresses(settings)
  const kinds = new Map([[modelServer, createModelKind(addresses)]])
  const vault = createVault({ ...deps, kinds })
  const services = createServices({ ...deps, kinds, bindCredentials: vault.bind })
  const modelAccess = createModelAccess({ ...deps, vault })
  const modelStore = createModelStore(addresses, deps.ai !== undefined)
  const admin = { ...deps, addresses, vault, services, access: modelAccess, store: modelStore }
  return {
    modelStore,
    modelAccess,
    createModelAdmin: (hub: Parameters<typeof createModelAdmin>[1]) => createModelAdmin(admin, hub),
  }
}

type CodingAgent = RunReceiver & ModelRequestArbiter & ProgramCallRecorder

/** Returns the object of an agent whose program runs on a runner. */
const getCodingAgent = (env: Env, agentId: AccountId): CodingAgent => env.AGENTS.getByName(agentId)

/** Creates the dependencies of the runners' object. */
function createRunnersDeps(
  env: Env,
  deps: Pick<Parameters<typeof createRunAuthorizer>[0], 'tokens' | 'readToolRestrictions'> & {
    attempts: RunAttemptApi
    log: Log
  },
): RunnersDeps {
  const { attempts, log } = deps
  const toActivation = (id: string) => id as ActivationId
  return {
    attempts: {
      begin: (run) => attempts.beginAttempt(toActivation(run.activation_id), run.attempt),
      end: (run) => attempts.endAttempt(toActivation(run.activation_id), run.attempt),
      authorize: createRunAuthorizer({ ...deps, hub: attempts, clock: systemClock }),
    },
    receiver: (agentId) => getCodingAgent(env, agentId),
    clock: systemClock,
    log,
  }
}

/** Creates the gateway through which coding agents use models. */
const createModelHandler = (
  env: Env,
  deps: Parameters<typeof findTokenActivation>[0] & {
    models: Pick<ModelGatewayDeps, 'findUpstream'>
  },
) =>
  createModelGateway({
    findRun: async (token) => {
      const found = await findTokenActivation(deps, token, 'models', systemClock.now())
      if (!found) return null
      const { accountId: agentId, activationId, attempt } = found.claim
      return { agentId, activationId, attempt }
    },
    arbiterOf: (agentId) => getCodingAgent(env, agentId),
    findUpstream: deps.models.findUpstream,
    defer: waitUntil,
  })

/** Creates the operator's log, and the redactor that removes secrets from its lines. */
function createOperatorLog(
  env: Env,
  settings: Settings,
  maskOpenedSecrets: (text: string) => string,
) {
  const redact = createRedactor(findSecrets({ ...env }), (text) =>
    maskCredentials(maskOpenedSecrets(text), settings),
  )
  return {
    redact,
    log: createLog({ level: settings.ROOKERY_LOG_LEVEL, redact, now: systemClock.now }),
  }
}

const toOtlpOptions = (settings: Settings) => ({
  hub: settings.ROOKERY_NAME,
  hasContent: settings.ROOKERY_OTLP_CONTENT,
})

/** Creates the exporter of finished activations; an empty object when no collector is configured. */
function createExporter(
  settings: Settings,
  log: Log,
  redact: (text: string) => string,
): Pick<AgentDeps, 'exporter'> {
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT
  if (!endpoint) return {}
  const headers = settings.OTEL_EXPORTER_OTLP_HEADERS
  const exporter = createOtlpExporter({
    ...toOtlpOptions(settings),
    endpoint,
    headers,
    redact,
    log,
  })
  return { exporter }
}

const reportHook =
  (log: Log) =>
  ({ hook, point, outcome }: HookTiming, error: unknown): void =>
    log.warn(outcome === 'timed_out' ? 'hook timed out' : 'hook failed', {
      hook,
      point,
      error,
    })

const jurisdiction = z.enum(['eu', 'us', 'fedramp']).optional()

/** The bindings of Durable Objects. */
export type ObjectBindings = Pick<
  Env,
  'AGENTS' | 'SCHEDULER' | 'LIVE' | 'RATE_COUNTERS' | 'RUNNERS' | 'REPLAYS'
>

/**
 * Returns the bindings with objects that stay in the jurisdiction of the deployment, if it has one. An object of the
 * same name elsewhere is another one with other data, so `npm run deploy` writes ROOKERY_JURISDICTION and never changes it.
 */
export function restrictObjects<Bindings extends ObjectBindings>(bindings: Bindings): Bindings {
  const chosen = jurisdiction.parse(Reflect.get(bindings, 'ROOKERY_JURISDICTION'))
  if (chosen === undefined) return bindings
  return {
    ...bindings,
    AGENTS: bindings.AGENTS.jurisdiction(chosen),
    SCHEDULER: bindings.SCHEDULER.jurisdiction(chosen),
    LIVE: bindings.LIVE.jurisdiction(chosen),
    RATE_COUNTERS: bindings.RATE_COUNTERS.jurisdiction(chosen),
    RUNNERS: bindings.RUNNERS.jurisdiction(chosen),
    REPLAYS: bindings.REPLAYS.jurisdiction(chosen),
  }
}
