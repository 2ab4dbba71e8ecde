import { boundWait } from '../../shared/bounded-wait'
import { runnerLimits } from '../../shared/config'
import type { Clock } from '../../shared/ids'
import { runnerCloseCodes } from '../../shared/runner-protocol'
import { computeNextCheck } from './next-check'
import type { RunDispatcher } from './run-dispatcher'
import type { RunnerConnections } from './runner-connections'
import { toRunKey } from './runner-rows'
import type { RunnerStore } from './runner-store'

/** What time does to runners and runs: silence, deadlines, and what a predecessor of the object left. */
export class RunnerChecks {
  readonly #store: RunnerStore
  readonly #connections: RunnerConnections
  readonly #dispatcher: RunDispatcher
  readonly #clock: Clock

  constructor(
    store: RunnerStore,
    connections: RunnerConnections,
    dispatcher: RunDispatcher,
    clock: Clock,
  ) {
    this.#store = store
    this.#connections = connections
    this.#dispatcher = dispatcher
    this.#clock = clock
  }

  /** Corrects what the predecessor of the object left: sockets that are gone, runs that it did not send. */
  repair(): void {
    for (const runner of this.#store.listRunners()) {
      if (runner.disconnectedAt !== null || this.#connections.find(runner.id)) continue
      this.#store.changeRunner(runner.id, { disconnectedAt: this.#clock.now() })
    }
    for (const run of this.#store.listOpenRuns()) {
      if (run.state === 'assigned' && run.sentAt === null) this.#dispatcher.requeue(run)
    }
  }

  /** Does what is due. */
  run(): void {
    const now = this.#clock.now()
    this.#boundTimes(now)
    this.#closeConnections(now)
    this.#loseRuns(now)
    this.#endRuns(now)
    const { endedKeptMs, runnerKeptMs } = runnerLimits
    this.#store.deleteOld(now - endedKeptMs, now - runnerKeptMs)
  }

  /** Returns when something is due next; null: nothing is. */
  findNext(): number | null {
    this.#boundTimes(this.#clock.now())
    const runs = this.#store.listOpenRuns()
    const holders = new Set(
      runs.flatMap(({ state, runnerId }) =>
        state === 'assigned' || state === 'stopping' ? [runnerId] : [],
      ),
    )
    const waits = {
      runs,
      busyRunners: this.#store
        .listRunners()
        .filter(({ id }) => holders.has(id))
        .map((runner) => ({ ...runner, seenAt: this.#dispatcher.readSeenAt(runner) })),
      openedAt: this.#connections
        .list()
        .flatMap(({ facts }) => (facts.runnerId === null ? [facts.openedAt] : [])),
      oldestEnd: this.#store.readOldestEnd(),
    }
    return computeNextCheck(waits, this.#clock.now())
  }

  /** Brings back times that were stored before the clock was set back. */
  #boundTimes(now: number): void {
    for (const { id, seenAt, disconnectedAt } of this.#store.listRunners()) {
      const isLeft = disconnectedAt !== null && disconnectedAt > now
      if (seenAt <= now && !isLeft) continue
      const bounded = { seenAt: boundWait(seenAt, now, 0), ...(isLeft && { disconnectedAt: now }) }
      this.#store.changeRunner(id, bounded)
    }
    for (const run of this.#store.listOpenRuns()) {
      const longestMs = run.state === 'stopping' ? runnerLimits.stopMs : runnerLimits.retryMs
      const dueAt = run.dueAt === null ? null : boundWait(run.dueAt, now, longestMs)
      if (dueAt !== run.dueAt) this.#store.changeRun(toRunKey(run), { dueAt })
    }
  }

  /** Closes connections that said nothing in time. */
  #closeConnections(now: number): void {
    for (const { socket, facts } of this.#connections.list()) {
      if (facts.runnerId !== null || facts.openedAt + runnerLimits.helloMs > now) continue
      this.#connections.close(socket, runnerCloseCodes.badFrame, 'No hello in time.')
    }
    for (const runner of this.#store.listRunners()) {
      if (runner.disconnectedAt !== null || this.#dispatcher.isPresent(runner)) continue
      const socket = this.#connections.find(runner.id)
      if (socket) this.#connections.close(socket, runnerCloseCodes.tryAgain, 'No ping in time.')
      else this.#store.changeRunner(runner.id, { disconnectedAt: now })
    }
  }

  /** Gives up the runs of runners that did not come back. */
  #loseRuns(now: number): void {
    for (const { id, disconnectedAt } of this.#store.listRunners()) {
      if (disconnectedAt === null || disconnectedAt + runnerLimits.graceMs > now) continue
      this.#dispatcher.loseRunsOn(id, 'Its runner was disconnected and did not come back.')
    }
  }

  #endRuns(now: number): void {
    for (const run of this.#store.listOpenRuns()) {
      const { state, endsAt, dueAt } = run
      if (state === 'waiting' && endsAt <= now) {
        this.#dispatcher.lose(run, 'No runner took the run before its deadline.')
      } else if (state === 'assigned' && endsAt + runnerLimits.overrunMs <= now) {
        this.#dispatcher.giveUp(run, 'The run did not end at its deadline.')
      } else if (state === 'stopping' && (dueAt ?? 0) <= now) {
        this.#dispatcher.lose(run, 'The runner did not report the end of the run.')
      }
    }
  }
}
