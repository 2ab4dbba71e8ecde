import { scheduling } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import { AgentShell } from '../agent-shell'
import { ActivationStream } from '../run/live-stream'
import type { Lane } from './lane'
import { createLaneDeps, type ReplayDeps } from './lane-deps'
import { LaneStore } from './lane-store'

/** Runs one lane of a replay: the shell of an agent, with the recorded run behind it. */
export class LaneShell {
  readonly shell: AgentShell
  readonly #storage: DurableObjectStorage
  readonly #store: LaneStore
  readonly #deps: ReplayDeps
  readonly #lane: Lane

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
      const opened = await this.#lane.open()
      if (!opened) return void (await this.#storage.deleteAlarm())
      if (this.#isRunning) return
      this.shell.wake(opened.order.agent.id)
      await this.shell.waitUntilDurable()
    } catch (error) {
      log.warn('failed to start a lane of a replay', { error })
    }
  }

  async alarm(): Promise<void> {
    const mustBegin =
      this.#store.read('laneId') !== null && this.shell.readActivation().activationId === null
    if (mustBegin) await this.#begin()
    await this.shell.alarm()
  }

  cancel(): void {
    const { activationId } = this.shell.readActivation()
    if (activationId && this.#isRunning) this.shell.cancel(activationId)
  }

  #hintSteering(): void {
    this.shell.wake(this.#lane.opened.order.agent.id, { maySteer: true })
  }
}
