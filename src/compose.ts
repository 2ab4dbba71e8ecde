import { waitUntil } from 'cloudflare:workers'
import { createAgentApi, createMemoryApi, createWaker } from './agents/agent-api'
import type { AgentDeps } from './agents/agent-deps'
import type { SchedulerApi } from './agents/contract/agents'
import { createDefinitionStore, type DefinitionStore } from './agents/definitions/definition-store'
import { createHookRunner } from './agents/hooks/hook-runner'
import { hooks } from './agents/hooks/hooks'
import { createModelRegistry } from './agents/models/registry'
import { createRunnerControl } from './agents/runners/runner-api'
import { createSchedulerApi } from './agents/scheduler/scheduler-api'
import type { SchedulerDeps } from './agents/scheduler/scheduler-shell'
import { explorationFloor } from './agents/scheduler/shares'
import { createExporter, createOperatorLog, reportHook, toOtlpOptions } from './compose-log'
import { createRunnersDeps, getCodingAgent } from './compose-runners'
import { createHubApi } from './hub/api/hub-api'
import { createRunAttemptApi } from './hub/api/run-attempt-api'
import { createHub } from './hub/app'
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
import { createConnectedAccounts } from './mcp-servers/connected-accounts/connected-accounts'
import {
  connectCallbackPath,
  createConnectCallback,
} from './mcp-servers/connected-accounts/create-callback'
import type { ToolRestrictions } from './mcp-servers/contract/tools'
import { createCipher } from './mcp-servers/credentials/cipher'
import { createConnect } from './mcp-servers/credentials/connect'
import { createRecentSecrets } from './mcp-servers/credentials/recent-secrets'
import { createVault } from './mcp-servers/credentials/vault'
import { createResolver } from './mcp-servers/fetch/resolve-over-https'
import { createGateway } from './mcp-servers/gateway/create-gateway'
import { isGranted, isToolExcluded } from './mcp-servers/gateway/decide'
import { listKnownTools } from './mcp-servers/gateway/list-known-tools'
import { createToolRegistry } from './mcp-servers/gateway/tool-registry'
import { createGitRoutes } from './mcp-servers/git-proxy/create-git-routes'
import { createActivationTokens } from './mcp-servers/outside/activation-token'
import { createMcpRoutes } from './mcp-servers/outside/create-mcp-routes'
import { createPushSender } from './mcp-servers/push/create-push-sender'
import { createCatalogue } from './mcp-servers/remote/catalogue'
import { remoteServices } from './mcp-servers/remote/remote-services'
import { createRemotes } from './mcp-servers/remote/remotes'
import { namedServers, servers } from './mcp-servers/servers'
import { toServiceKinds } from './mcp-servers/services/service-kind'
import { createServices } from './mcp-servers/services/services'
import { createPrivateFiles } from './mcp-servers/storage/private-files'
import { createResultStore } from './mcp-servers/storage/result-store'
import { createWorkspaces } from './mcp-servers/storage/workspace'
import type { ToolServer } from './mcp-servers/tool/define-tool'
import { scheduling } from './shared/config'
import { createDb } from './shared/db/db'
import { systemClock } from './shared/ids'
import type { Log } from './shared/log'
import { readSettings, type Settings } from './shared/settings'
import { sendRefusalPage } from './web/frame/send-page'
import { registerPages } from './web/register-pages'

/**
 * Creates the app and its dependencies from the bindings, once per isolate. This file is the
 * composition root: the only one that imports all modules, and it contains no logic of its own.
 */
export function composeApp(env: Env) {
  const settings = readSettings({ ...env })
  const clock = systemClock
  const outside = createOutside(env, settings)
  const { log, redact } = createOperatorLog(env, settings, outside.known.text)
  const live = createLivePublisher(env.LIVE)
  const models = createModelRegistry(settings, { readKey: (name) => readVariable(env, name) })
  const definitions = createDefinitionStore(env.FILES)
  const { registry } = outside
  const tools = listKnownTools(registry)
  const agents = createAgents(env, settings, { definitions, models, registry, tools })
  const scheduler = createSchedulerApi(env.SCHEDULER)
  const shared = { settings, clock, agents, scheduler, live, push: outside.push, tools, log }
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
  const remotes = createRemotes({ ...outside, clock, hub })
  const toolAdmin = createToolAdmin({ ...outside, remotes, hub })
  const app = createHub({
    ...shared,
    binding: env.DB,
    ...createEntry(env),
    moduleRoutes: adminRoutes,
    pages: (root, routes) => registerPages(root, routes, { toolAdmin, accounts: outside.accounts }),
    mounts: createMounts(env, {
      ...outside,
      gateway,
      openGateway,
      hub,
      settings,
      clock,
      log,
      remotes,
      readToolRestrictions,
    }),
  })
  const agentDeps: AgentDeps = {
    hub,
    tools: gateway,
    models,
    definitions,
    hooks: createHookRunner(hooks, { redact, now: clock.now, report: reportHook(log) }),
    wakeAgents: createReliableWaker(env, scheduler),
    clock,
    hubName: settings.ROOKERY_NAME,
    mask: (text) => maskCredentials(text, settings.ROOKERY_KEY_PREFIX),
    log,
    ...createExporter(settings, log, redact),
    random: Math.random,
    capacity: readCapacity(settings),
    explorationFloor: explorationFloor(settings.ROOKERY_SCHEDULING, readCapacity(settings)),
  }
  const schedulerDeps = createSchedulerDeps(env, settings, hub)
  const { tokens } = outside
  const attempts = createRunAttemptApi(openContext)
  const runnersDeps = createRunnersDeps(env, { tokens, attempts, readToolRestrictions, log })
  return { app, scheduler, agentDeps, schedulerDeps, runnersDeps }
}

/** Creates the gateway of some servers and the remote ones. */
const createToolGateway = (
  env: Env,
  {
    servers,
    catalogue,
    connect,
  }: Pick<ReturnType<typeof createOutside>, 'catalogue' | 'connect'> & { servers: ToolServer[] },
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
    reportFailure: (tool, error) => log.warn('tool failed', { tool, error }),
  })

/** Creates the API of agents, for definitions that use the registered servers, tools and hooks. */
const createAgents = (
  env: Env,
  settings: Settings,
  deps: Pick<Parameters<typeof createAgentApi>[0], 'definitions' | 'models'> & {
    registry: ReturnType<typeof createToolRegistry>
    tools: ReturnType<typeof listKnownTools>
  },
) =>
  createAgentApi({
    namespace: env.AGENTS,
    definitions: deps.definitions,
    models: deps.models,
    listServers: () => deps.registry.servers().map(({ name }) => name),
    hookNames: hooks.map(({ name }) => name),
    isGranted,
    isTooWide: deps.tools.isTooWide,
    hasTool: deps.tools.hasToolForPattern,
    isToolExcluded,
    files: createPrivateFiles(env.FILES),
    runners: createRunnerControl(env.RUNNERS),
    clock: systemClock,
    otlp: toOtlpOptions(settings),
  })

/** Returns a function that wakes agents; when one cannot be reached, it arms the scheduler's sweep. */
function createReliableWaker(env: Env, scheduler: SchedulerApi): AgentDeps['wakeAgents'] {
  const wake = createWaker(env.AGENTS)
  return async (agentIds) => {
    if (!(await wake(agentIds))) await scheduler.arm().catch(() => null)
  }
}

/** Returns the routes of other modules on the hub's origin: MCP, and the admin API and forms of tools. */
function createMounts(
  env: Env,
  deps: Omit<Parameters<typeof createMcpRoutes>[0], 'defer' | 'noteToolsListed'> &
    Omit<Parameters<typeof createGitRoutes>[0], 'defer'> &
    Omit<Parameters<typeof createAdminRoutes>[0], 'reportFailure'> &
    Omit<Parameters<typeof createConnectCallback>[0], 'reportFailure'> & { log: Log },
): NonNullable<HubDeps['mounts']> {
  const mcp = createMcpRoutes({
    ...deps,
    defer: waitUntil,
    noteToolsListed: (agentId, id, attempt) =>
      getCodingAgent(env, agentId).noteToolsListed(id, attempt),
  })
  const git = createGitRoutes({ ...deps, defer: waitUntil })
  const reportFailure = (error: unknown) => deps.log.error('request failed', { error })
  const admin = createAdminRoutes({ ...deps, reportFailure })
  const forms = createCredentialForms({ ...deps, reportFailure })
  const callback = createConnectCallback({ ...deps, reportFailure })
  return mountModules({
    ...{ mcp, git, admin, adminRoutes, forms, formPaths: credentialFormPaths },
    ...{ callback, callbackPath: connectCallbackPath },
  })
}

const createRestrictionsReader =
  (definitions: DefinitionStore) =>
  async (agent: string, etag: string): Promise<ToolRestrictions | null> => {
    const found = await definitions.read(agent, etag)
    return found.ok ? found.definition.toolRestrictions : null
  }

/** Creates external services and their credentials, which `src/hub` never receives. */
function createOutside(env: Env, settings: Settings) {
  const key = settings.ROOKERY_VAULT_KEY
  const keys = key ? [key, ...(settings.ROOKERY_VAULT_OLD_KEYS ?? [])] : []
  const cipher = createCipher(keys)
  const readSecret = (name: string) => readVariable(env, name)
  const base = {
    db: createDb(env.DB),
    clock: systemClock,
    kinds: toServiceKinds([...namedServers, { name: 'remote', services: remoteServices }]),
    isPrivateAllowed: settings.ROOKERY_ALLOW_PRIVATE_SERVICES,
  }
  const catalogue = createCatalogue(base)
  const known = createRecentSecrets()
  const vault = createVault({ ...base, cipher, readVariable: readSecret })
  const dns = settings.ROOKERY_DNS_OVER_HTTPS
  const resolve = dns === 'off' ? undefined : createResolver(dns)
  const linkage = { cipher, resolve, hubName: settings.ROOKERY_NAME }
  const accounts = createConnectedAccounts({ ...base, ...linkage })
  return {
    db: base.db,
    ...{ isPrivateAllowed: base.isPrivateAllowed, ...linkage },
    vault,
    known,
    accounts,
    tokens: createActivationTokens(keys),
    catalogue,
    registry: createToolRegistry(namedServers, catalogue),
    services: createServices({ ...base, bindCredentials: vault.bind }),
    push: createPushSender({
      vaultKeys: keys,
      origins: settings.ROOKERY_ORIGIN ?? [],
      resolve,
    }),
    connect: createConnect({ ...base, vault, known, resolve, ownAccounts: accounts }),
  }
}

/** Creates what counts and refuses requests before their routes run. */
const createEntry = (env: Env): Pick<HubDeps, 'rateLimiter' | 'renderErrorPage'> => ({
  rateLimiter: createRateLimiter(env.RATE_COUNTERS, findPlatformLimits(env)),
  renderErrorPage: sendRefusalPage,
})

/** Returns the platform's rate limiters. `npm start` binds none: each call of one costs a millisecond. */
const findPlatformLimits = (env: Partial<Env>): PlatformLimits => ({
  ...(env.RATE_READ && { read: env.RATE_READ }),
  ...(env.RATE_WRITE && { write: env.RATE_WRITE }),
  ...(env.RATE_SEARCH && { search: env.RATE_SEARCH }),
  ...(env.RATE_UPLOAD && { upload: env.RATE_UPLOAD }),
  ...(env.RATE_CONNECT && { connect: env.RATE_CONNECT }),
})

const readCapacity = (settings: Settings): number =>
  settings.ROOKERY_MAX_CONCURRENT ?? scheduling.concurrentActivationsMax

const createSchedulerDeps = (env: Env, settings: Settings, hub: SweepApi): SchedulerDeps => ({
  hub,
  wake: createWaker(env.AGENTS),
  offerExplorations: createWaker(env.AGENTS, true),
  clock: systemClock,
  mode: settings.ROOKERY_SCHEDULING,
  capacity: readCapacity(settings),
})

function readVariable(env: Env, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name)
  return typeof value === 'string' ? value : undefined
}
