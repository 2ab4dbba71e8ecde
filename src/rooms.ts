import { createAgentApi, createWaker } from './agents/agent-api'
import type { AgentDeps } from './agents/agent-deps'
import { createDefinitionStore } from './agents/definitions/definition-store'
import { createHookRunner } from './agents/hooks/hook-runner'
import { hooks } from './agents/hooks/hooks'
import { createModelRegistry } from './agents/models/registry'
import { createSchedulerApi } from './agents/scheduler/scheduler-api'
import type { SchedulerDeps } from './agents/scheduler/scheduler-object'
import { readSettings, scheduling } from './config'
import { createHub } from './hub/app'
import { createDb } from './hub/db'
import { createHubDoors } from './hub/doors/hub-doors'
import { createLivePublisher } from './hub/live/live-publisher'
import { maskCredentials } from './hub/posts/credential-shapes'
import { systemClock } from './ids'
import { createLog, createRedactor, findSecrets } from './log'
import { createGateway } from './mcp-servers/gateway/create-gateway'
import { createMcpRoutes } from './mcp-servers/outside/create-mcp-routes'
import { servers } from './mcp-servers/servers'

/**
 * The composition root: the one file that knows all rooms. Everything is made once an isolate;
 * nothing here decides anything.
 */
export function createRooms(env: Env) {
  const settings = readSettings(env as unknown as Record<string, unknown>)
  const clock = systemClock
  const log = createLog({
    level: settings.ROOKERY_LOG_LEVEL,
    redact: createRedactor(findSecrets(env as unknown as Record<string, unknown>), (text) =>
      maskCredentials(text, settings.ROOKERY_KEY_PREFIX),
    ),
    now: clock.now,
  })
  const live = createLivePublisher(env.LIVE)
  const models = createModelRegistry(settings, {
    readKey: (variable) => {
      const value: unknown = Reflect.get(env, variable)
      return typeof value === 'string' ? value : undefined
    },
  })
  const definitions = createDefinitionStore(env.FILES)
  const serverNames = servers.map(({ name }) => name)
  const agents = createAgentApi({ namespace: env.AGENTS, definitions, models, serverNames })
  const scheduler = createSchedulerApi(env.SCHEDULER)
  const hub = createHubDoors(() => ({
    db: createDb(env.DB),
    settings,
    clock,
    agents,
    scheduler,
    live,
    log,
    defer: (work) => void work.catch(() => undefined),
  }))
  const gateway = createGateway({
    hub,
    clock,
    servers,
    reportFailure: (tool, error) => log.warn('tool failed', { tool, error }),
  })
  const mcp = createMcpRoutes({ gateway, hub, settings, clock })
  const app = createHub({
    binding: env.DB,
    settings,
    clock,
    agents,
    scheduler,
    live,
    log,
    mounts: (root) => {
      root.all('/mcp', (c) => mcp(c.req.raw))
      root.all('/mcp/*', (c) => mcp(c.req.raw))
    },
  })
  const wake = createWaker(env.AGENTS)
  const agentDeps: AgentDeps = {
    hub,
    tools: gateway,
    models,
    definitions,
    hooks: createHookRunner(hooks, {
      redact: (text) => maskCredentials(text, settings.ROOKERY_KEY_PREFIX),
      now: clock.now,
      report: () => undefined,
    }),
    wakeOthers: wake,
    clock,
    log,
    random: Math.random,
    capacity: settings.ROOKERY_MAX_CONCURRENT ?? scheduling.concurrentActivationsMax,
  }
  const schedulerDeps: SchedulerDeps = { hub, wake, clock }
  return { app, scheduler, agentDeps, schedulerDeps }
}
