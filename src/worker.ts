import { AgentObjectBase } from './agents/agent-object'
import { SchedulerObjectBase } from './agents/scheduler/scheduler-object'
import { LiveObject } from './hub/live/live-object'
import { createRooms } from './rooms'

let rooms: ReturnType<typeof createRooms> | undefined
let isStarted = false

/** The rooms of this isolate; its bindings never change. */
const roomsOf = (env: Env): ReturnType<typeof createRooms> => {
  rooms ??= createRooms(env)
  return rooms
}

export class AgentObject extends AgentObjectBase<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, roomsOf(env).agentDeps)
  }
}

export class SchedulerObject extends SchedulerObjectBase<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, roomsOf(env).schedulerDeps)
  }
}

export { LiveObject }

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
