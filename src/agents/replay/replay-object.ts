import { DurableObject } from 'cloudflare:workers'
import type { ActivationId } from '../../shared/ids'
import type { Settings } from '../../shared/settings'
import type { ReplayRunner } from '../contract/agents'
import type { ModelRegistry } from '../models/model-port'
import { findParting } from './find-parting'
import { boundJudge } from './judge-prompt'
import { findJudge } from './judge-run'
import type { ReplayDeps } from './lane-deps'
import { LaneShell } from './lane-shell'
import { findReplayProblem, listReads, readAnswer, readQuestion } from './read-record'

/** The Durable Object of one lane of a replay, named by the lane's id. */
export class ReplayObjectBase<Env> extends DurableObject<Env> {
  readonly #lane: LaneShell

  constructor(ctx: DurableObjectState, env: Env, deps: ReplayDeps) {
    super(ctx, env)
    this.#lane = new LaneShell(ctx, deps)
  }

  wake(laneId: ActivationId): Promise<void> {
    return this.#lane.wake(laneId)
  }

  cancel(): Promise<void> {
    return this.#lane.cancel()
  }

  override alarm(): Promise<void> {
    return this.#lane.alarm()
  }

  async deleteAll(): Promise<void> {
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
  }

  /** Ends this instance: the next call finds one that has read what is stored. */
  restart(): void {
    this.ctx.abort('deleted')
  }
}

type Replays = DurableObjectNamespace<ReplayObjectBase<unknown>>

interface RunnerDeps {
  settings: Pick<Settings, 'ROOKERY_JUDGE_MODEL'>
  models: Pick<ModelRegistry, 'resolve'>
}

/** Creates the agents' part of replays for the hub. */
export function createReplayRunner(
  namespace: Replays,
  { settings, models }: RunnerDeps,
): ReplayRunner {
  const objectOf = (laneId: ActivationId) => namespace.getByName(laneId)
  return {
    wakeLane: async (laneId) => objectOf(laneId).wake(laneId),
    cancelLane: async (laneId) => objectOf(laneId).cancel(),
    async deleteLane(laneId) {
      await objectOf(laneId).deleteAll()
      // the call fails, as the object ends within it
      await objectOf(laneId)
        .restart()
        .catch(() => undefined)
    },
    findParting,
    findReplayProblem,
    readAnswer,
    readQuestion,
    listReads,
    readJudge(connections) {
      const { ROOKERY_JUDGE_MODEL: name } = settings
      const found = name === undefined ? null : findJudge(models, name, connections)
      return found === null || typeof found === 'string' ? null : boundJudge(found)
    },
  }
}
