import { runnerLimits } from '../../shared/config'
import { type RunnerMessage, runnerCloseCodes } from '../../shared/runner-protocol'
import type { RunDispatcher } from './run-dispatcher'
import type { RunnerConnections, RunnerSocket } from './runner-connections'
import { type StoredRun, toRunKey } from './runner-rows'
import type { RunnerStore } from './runner-store'
import type { RunnersDeps } from './runners-deps'

type Reports = Extract<RunnerMessage, { type: 'report' }>

/** The reports of a connection that wait for their agents. */
interface Queue {
  /** Characters of the frames. */
  chars: number
  /** The last frame of each attempt. */
  tails: Map<string, Promise<void>>
}

/**
 * Passes reports on to their agents, those of an attempt in their order, and acknowledges what an agent has
 * stored. When an agent does not answer, the connection is closed: the runner sends them again.
 */
export class ReportIntake {
  readonly #store: RunnerStore
  readonly #connections: RunnerConnections
  readonly #dispatcher: RunDispatcher
  readonly #deps: RunnersDeps
  readonly #dispatch: () => Promise<void>
  readonly #queues = new WeakMap<RunnerSocket, Queue>()

  /** @param dispatch uses a slot that is free now */
  constructor(
    store: RunnerStore,
    connections: RunnerConnections,
    dispatcher: RunDispatcher,
    deps: RunnersDeps,
    dispatch: () => Promise<void>,
  ) {
    this.#store = store
    this.#connections = connections
    this.#dispatcher = dispatcher
    this.#deps = deps
    this.#dispatch = dispatch
  }

  /** Resolves when the reports were passed on, or were refused. */
  add(socket: RunnerSocket, reports: Reports, chars: number): Promise<void> {
    const queue: Queue = this.#queues.get(socket) ?? { chars: 0, tails: new Map() }
    this.#queues.set(socket, queue)
    const name = `${reports.activation_id} ${reports.attempt}`
    const before = queue.tails.get(name) ?? Promise.resolve()
    if (queue.chars + chars > runnerLimits.pendingCharsMax) {
      this.#connections.close(socket, runnerCloseCodes.tryAgain, 'Too many reports are waiting.')
      return before
    }
    queue.chars += chars
    const tail = before
      .then(() => this.#pass(socket, reports))
      .finally(() => {
        queue.chars -= chars
        if (queue.tails.get(name) === tail) queue.tails.delete(name)
      })
    queue.tails.set(name, tail)
    return tail
  }

  async #pass(socket: RunnerSocket, reports: Reports): Promise<void> {
    const runnerId = this.#connections.read(socket)?.runnerId
    if (!runnerId) return
    const run = this.#store.findRun(reports)
    const last = reports.first + reports.reports.length - 1
    if (run?.runnerId !== runnerId || (run.state !== 'assigned' && run.state !== 'stopping')) {
      this.#discard(socket, reports, last)
      return
    }
    if (reports.first > run.stored + 1) {
      const reason = `Report ${run.stored + 1} is missing.`
      this.#connections.close(socket, runnerCloseCodes.badFrame, reason)
      return
    }
    if (last <= run.stored) {
      this.#acknowledge(socket, run, run.stored)
      return
    }
    await this.#passOn(socket, run, reports)
  }

  async #passOn(socket: RunnerSocket, run: StoredRun, { first, reports }: Reports): Promise<void> {
    const { activationId, attempt, agentId, stored } = run
    const last = first + reports.length - 1
    const fresh = reports.slice(stored + 1 - first)
    let answer: { stored: number } | null
    try {
      const receiver = this.#deps.receiver(agentId)
      answer = await receiver.receiveReports(activationId, attempt, stored + 1, fresh)
    } catch (error) {
      this.#deps.log.warn('an agent did not take reports', { activation: activationId, error })
      this.#connections.close(socket, runnerCloseCodes.tryAgain, 'The agent did not answer.')
      return
    }
    // Who does not wait for the attempt any more needs none of its reports.
    const known = answer === null ? last : answer.stored
    this.#store.changeRun(toRunKey(run), { stored: Math.max(stored, known) })
    const current = this.#store.findRun(toRunKey(run))
    if (answer === null && current?.state === 'assigned')
      this.#dispatcher.stop(current, 'superseded')
    const session = fresh.findLast((each) => 'session_id' in each && each.session_id !== null)
    if (session && 'session_id' in session && session.session_id && run.runnerId) {
      this.#store.saveSession(session.session_id, run.runnerId, this.#deps.clock.now())
    }
    this.#acknowledge(socket, run, known)
    if (known < last) {
      this.#connections.close(socket, runnerCloseCodes.tryAgain, 'The agent did not store all.')
      return
    }
    if (!reports.some(({ kind }) => kind === 'ended')) return
    this.#store.endRun(toRunKey(run))
    await Promise.all([this.#endToken(run), this.#dispatch()])
  }

  /** Ends what the token of a program that has ended opens; it ends with the activation in any case. */
  async #endToken(run: StoredRun): Promise<void> {
    try {
      await this.#deps.attempts.end(toRunKey(run))
    } catch (error) {
      this.#deps.log.warn('failed to end a token', { activation: run.activationId, error })
    }
  }

  /** Ends an attempt that nobody waits for: it was lost, ended, or is unknown. */
  #discard(socket: RunnerSocket, { activation_id, attempt, reports }: Reports, last: number): void {
    const key = { activation_id, attempt }
    if (!reports.some(({ kind }) => kind === 'ended')) {
      this.#connections.send(socket, { type: 'stop', ...key, reason: 'superseded' })
    }
    this.#connections.send(socket, { type: 'acknowledge', ...key, report: last })
  }

  #acknowledge(socket: RunnerSocket, run: StoredRun, report: number): void {
    this.#connections.send(socket, { type: 'acknowledge', ...toRunKey(run), report })
  }
}
