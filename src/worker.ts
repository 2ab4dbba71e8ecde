import { createAgentApi, createWaker } from './agents/agent-api'
import { AgentObjectBase } from './agents/agent-object'
import { createDefinitionStore } from './agents/definitions/definition-store'
import { createModelRegistry } from './agents/models/registry'
import { createSchedulerApi } from './agents/scheduler/scheduler-api'
import { SchedulerObjectBase } from './agents/scheduler/scheduler-object'
import { readSettings, scheduling } from './config'
import { createHub } from './hub/app'
import { createDb } from './hub/db'
import { createHubDoors } from './hub/doors/hub-doors'
import { createLivePublisher } from './hub/live/live-publisher'
import { LiveTopicObject } from './hub/live/live-topic'
import { systemClock } from './ids'
import { createGateway } from './mcp-servers/gateway/create-gateway'
import { createMcpRoutes } from './mcp-servers/outside/create-mcp-routes'
import { servers } from './mcp-servers/servers'

/**
 * The composition root: the one file that knows all rooms. Everything is made once an isolate;
 * nothing here decides anything.
 */
function createRooms(env: Env) {
  const settings = readSettings(env as unknown as Record<string, unknown>)
  const clock = systemClock
  const live = createLivePublisher(env.LIVE)
  const models = createModelRegistry(settings, {
    readKey: (variable) => {
      const value: unknown = Reflect.get(env, variable)
      return typeof value === 'string' ? value : undefined
    },
  })
  const definitions = createDefinitionStore(env.FILES)
  const agents = createAgentApi({ namespace: env.AGENTS, definitions, models })
  const scheduler = createSchedulerApi(env.SCHEDULER)
  const hub = createHubDoors(() => ({
    db: createDb(env.DB),
    settings,
    clock,
    agents,
    scheduler,
    live,
    defer: (work) => void work.catch(() => undefined),
  }))
  const gateway = createGateway({ hub, clock, servers })
  const mcp = createMcpRoutes({ gateway, hub, settings, clock })
  const app = createHub({
    binding: env.DB,
    settings,
    clock,
    agents,
    scheduler,
    live,
    mounts: (root) => {
      root.all('/mcp', (c) => mcp(c.req.raw))
      root.all('/mcp/*', (c) => mcp(c.req.raw))
    },
  })
  return { settings, clock, models, definitions, scheduler, hub, gateway, app }
}

let rooms: ReturnType<typeof createRooms> | undefined
let isStarted = false

/** The rooms of this isolate; its bindings never change. */
const roomsOf = (env: Env): ReturnType<typeof createRooms> => {
  rooms ??= createRooms(env)
  return rooms
}

export class AgentObject extends AgentObjectBase<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    const { hub, gateway, models, definitions, clock, settings } = roomsOf(env)
    super(ctx, env, {
      hub,
      tools: gateway,
      models,
      definitions,
      wakeOthers: createWaker(env.AGENTS),
      clock,
      random: Math.random,
      capacity: settings.ROOKERY_MAX_CONCURRENT ?? scheduling.concurrentActivationsMax,
    })
  }
}

export class SchedulerObject extends SchedulerObjectBase<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    const { hub, clock } = roomsOf(env)
    super(ctx, env, { hub, wake: createWaker(env.AGENTS), clock })
  }
}

export { LiveTopicObject }

export default {
  async fetch(request, env, ctx) {
    const { app, scheduler } = roomsOf(env)
    if (!isStarted) {
      isStarted = true
      ctx.waitUntil(scheduler.ensureStarted().catch(() => undefined))
    }
    return app.fetch(request, env, ctx)
  },
  async scheduled(_event, env) {
    await roomsOf(env).scheduler.ensureStarted()
  },
} satisfies ExportedHandler<Env>
