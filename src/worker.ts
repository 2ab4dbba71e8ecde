import { AgentObjectBase } from './agents/agent-object'
import { ReplayObjectBase } from './agents/replay/replay-object'
import { RunnersObjectBase } from './agents/runners/runners-object'
import { SchedulerObjectBase } from './agents/scheduler/scheduler-object'
import { composeApp } from './compose'
import { RateCounterObject } from './hub/http/rate-limiter'
import { LiveObject } from './hub/live/live-object'

let composed: ReturnType<typeof composeApp> | undefined
let isStarted = false

/** Returns the app of this isolate, composed once: an isolate's bindings never change. */
const getApp = (env: Env): ReturnType<typeof composeApp> => {
  composed ??= composeApp(env)
  return composed
}

export class AgentObject extends AgentObjectBase<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, getApp(env).agentDeps)
  }
}

export class SchedulerObject extends SchedulerObjectBase<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, getApp(env).schedulerDeps)
  }
}

export class RunnersObject extends RunnersObjectBase<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, getApp(env).runnersDeps)
  }
}

export class ReplayObject extends ReplayObjectBase<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, getApp(env).replayDeps)
  }
}

export { LiveObject, RateCounterObject }

export default {
  async fetch(request, env, ctx) {
    const { app, scheduler } = getApp(env)
    if (!isStarted) {
      isStarted = true
      ctx.waitUntil(scheduler.ensureStarted().catch(() => undefined))
    }
    return app.fetch(request, env, ctx)
  },
  async scheduled(_event, env) {
    await getApp(env).scheduler.ensureStarted()
  },
} satisfies ExportedHandler<Env>
