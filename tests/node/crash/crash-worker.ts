/**
 * The whole Worker with a look-out at every effect of a mention's way: it asks the test's own server
 * before, during and after each one, and the test kills the machine at the one it wants. Everything
 * else is the product.
 */

import { AgentObjectBase } from '../../../src/agents/agent-object'
import type { AgentDeps } from '../../../src/agents/effects/effect-context'
import type { Model, ModelRequest } from '../../../src/agents/models/model-port'
import { ReplayObjectBase } from '../../../src/agents/replay/replay-object'
import { RunnersObjectBase } from '../../../src/agents/runners/runners-object'
import { SchedulerObjectBase } from '../../../src/agents/scheduler/scheduler-object'
import { composeApp } from '../../../src/compose'
import type { AccountId } from '../../../src/shared/ids'

export { RateCounterObject } from '../../../src/hub/http/rate-limiter'
export { LiveObject } from '../../../src/hub/live/live-object'

type CrashEnv = Env & { CRASH_CONTROL: string }
type Work = (...given: never[]) => Promise<unknown>

let rooms: ReturnType<typeof composeApp> | undefined
const roomsOf = (env: CrashEnv) => {
  rooms ??= composeApp(env)
  return rooms
}

/** Tells the test where it is; the answer comes at once, unless this is where it ends. */
const pass = async (env: CrashEnv, point: string, agent: string): Promise<void> => {
  await fetch(`${env.CRASH_CONTROL}/${point}?agent=${agent}`)
}

function observe<Observed extends Work>(
  env: CrashEnv,
  agent: string,
  name: string,
  work: Observed,
): Observed {
  return (async (...given: Parameters<Observed>) => {
    await pass(env, `${name}.before`, agent)
    const result = work(...given)
    result.catch(() => undefined)
    await pass(env, `${name}.during`, agent)
    const answer = await result
    await pass(env, `${name}.after`, agent)
    return answer
  }) as Observed
}

function observeDeps(env: CrashEnv, deps: AgentDeps, agent: string): AgentDeps {
  const { hub, tools, models } = deps
  return {
    ...deps,
    hub: {
      ...hub,
      load: observe(env, agent, 'load', hub.load),
      renew: observe(env, agent, 'renew', hub.renew),
      commit: observe(env, agent, 'commit', hub.commit),
    },
    tools: { ...tools, call: observe(env, agent, 'tool', tools.call) },
    models: {
      resolve: (choice) => {
        const resolved = models.resolve(choice)
        return { ...resolved, model: observeModel(env, resolved.model, agent) }
      },
    },
  }
}

const observeModel = (env: CrashEnv, model: Model, agent: string): Model => ({
  ...model,
  call: (request) => {
    const turn = request.messages.some(({ role }) => role === 'tool') ? 2 : 1
    return observe(env, agent, `model${turn}`, (given: ModelRequest) => model.call(given))(request)
  },
})

export class AgentObject extends AgentObjectBase<CrashEnv> {
  constructor(ctx: DurableObjectState, env: CrashEnv) {
    super(ctx, env, observeDeps(env, roomsOf(env).agentDeps, ctx.id.name ?? ''))
  }

  override async wake(agentId: AccountId): Promise<void> {
    await pass(this.env, 'wake.before', agentId)
    await super.wake(agentId)
    await pass(this.env, 'wake.after', agentId)
  }
}

export class SchedulerObject extends SchedulerObjectBase<CrashEnv> {
  constructor(ctx: DurableObjectState, env: CrashEnv) {
    super(ctx, env, roomsOf(env).schedulerDeps)
  }
}

export class RunnersObject extends RunnersObjectBase<CrashEnv> {
  constructor(ctx: DurableObjectState, env: CrashEnv) {
    super(ctx, env, roomsOf(env).runnersDeps)
  }
}

export class ReplayObject extends ReplayObjectBase<CrashEnv> {
  constructor(ctx: DurableObjectState, env: CrashEnv) {
    super(ctx, env, roomsOf(env).replayDeps)
  }
}

let isStarted = false

export default {
  async fetch(request, env, ctx) {
    const { app, scheduler } = roomsOf(env)
    if (!isStarted) {
      isStarted = true
      ctx.waitUntil(scheduler.ensureStarted().catch(() => undefined))
    }
    return app.fetch(request, env, ctx)
  },
} satisfies ExportedHandler<CrashEnv>
