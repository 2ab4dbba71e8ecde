import { scheduling } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import { AgentShell } from '../agent-shell'
import { ActivationStream } from '../run/live-stream'
import { JudgeRun } from './judge-run'
import type { Lane } from './lane'
import { createLaneDeps, type ReplayDeps } from './lane-deps'
import { LaneStore } from './lane-store'

/**
 * Runs one lane of a replay: the shell of an agent, with the recorded run behind it. A lane that compares answers is one
 * model call beside it.
 */
export class LaneShell {
  readonly shell: AgentShell
  readonly #storage: DurableObjectStorage
  readonly #store: LaneStore
  readonly #deps: ReplayDeps
  readonly #lane: Lane
  readonly #judge: JudgeRun

  constructor(state: DurableObjectState, deps: ReplayDeps) {
    const store = new LaneStore(state.storage.sql)
    const { lane, agentDeps } = createLaneDeps(deps, {
      store,
      readEvents: () => this.shell.readActivation().events,
      hintSteering: () => this.#hintSteering(),
    })
    this.#storage = state.storage
    this.#store = store
    this.#deps = deps
    this.#lane = lane
    this.#judge = new JudgeRun(state.storage, store, deps)
    this.shell = new AgentShell(
      state.storage,
      agentDeps,
      new ActivationStream(state, deps.agent.mask),
    )
  }

  /** Starts the lane, or lets it go on. Resolves when it runs, or when an alarm guarantees that it will. Idempotent. */
  async wake(laneId: ActivationId): Promise<void> {
    this.#store.save('laneId', laneId)
    if (this.#store.read('isFinished')) return
    if (this.#isRunning) return void (await this.#storage.setAlarm(this.#deps.agent.clock.now()))
    await this.#begin()
  }

  get #isRunning(): boolean {
    return !this.shell.readActivation().isCommitted
  }

  /** Starts the run. The alarm is set first: whatever fails, it tries again. */
  async #begin(): Promise<void> {
    const { clock, log } = this.#deps.agent
    await this.#storage.setAlarm(clock.now() + scheduling.watchdogMs)
    try {
      const order = await this.#lane.readOrder()
      if (!order) return void (await this.#storage.deleteAlarm())
      if (order.lane === 'judge') return this.#judge.start(order)
      const opened = await this.#lane.open()
      if (!opened) return
      if (this.#isRunning) return
      this.shell.wake(opened.order.agent.id)
      await this.shell.waitUntilDurable()
    } catch (error) {
      log.warn('failed to start a lane of a replay', { error })
    }
  }

  async alarm(): Promise<void> {
    const mustBegin =
      this.#store.read('laneId') !== null &&
      this.#store.read('isFinished') === null &&
      this.shell.readActivation().activationId === null
    if (mustBegin) await this.#begin()
    if (this.#judge.isRunning) return this.#judge.waitUntilIdle()
    await this.shell.alarm()
  }

  async cancel(): Promise<void> {
    if (this.#store.read('judge') !== null) return this.#judge.cancel()
    const { activationId } = this.shell.readActivation()
    if (activationId && this.#isRunning) this.shell.cancel(activationId)
  }

  #hintSteering(): void {
    this.shell.wake(this.#lane.opened.order.agent.id, { maySteer: true })
  }
}
