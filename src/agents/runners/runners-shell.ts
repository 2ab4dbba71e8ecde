import { accountTag, keyTag } from '../../hub/contract/live-event'
import { runnerLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { type RunnerMessage, runnerCloseCodes } from '../../shared/runner-protocol'
import type { NewRun, RunnerApi } from '../contract/coding-agents'
import type { RunnerList } from '../contract/runners'
import { readFrame } from './read-frame'
import { reconcileRuns } from './reconcile-runs'
import { ReportIntake } from './report-intake'
import { RunDispatcher, toRunnerRun } from './run-dispatcher'
import { RunnerChecks } from './runner-checks'
import {
  type ConnectionFacts,
  RunnerConnections,
  type RunnerSocket,
  type RunnerSockets,
} from './runner-connections'
import { type RunKey, toRunKey } from './runner-rows'
import { RunnerStore } from './runner-store'
import type { RunnersDeps } from './runners-deps'

type MessageOf<Type extends RunnerMessage['type']> = Extract<RunnerMessage, { type: Type }>

/** The part of a Durable Object's storage that is used. */
export interface RunnersStorage {
  sql: SqlStorage
  setAlarm(at: number): Promise<void>
  deleteAlarm(): Promise<void>
}

/**
 * The runners of a hub: takes their messages, gives them runs, and reports to agents what was lost. It decides
 * nothing about an activation; the agent's object does.
 */
export class RunnersShell {
  readonly #storage: RunnersStorage
  readonly #deps: RunnersDeps
  readonly #store: RunnerStore
  readonly #connections: RunnerConnections
  readonly #dispatcher: RunDispatcher
  readonly #intake: ReportIntake
  readonly #checks: RunnerChecks

  constructor(storage: RunnersStorage, sockets: RunnerSockets, deps: RunnersDeps) {
    this.#storage = storage
    this.#deps = deps
    this.#store = new RunnerStore(storage.sql)
    const connections = new RunnerConnections(sockets, (runnerId) =>
      this.#store.changeRunner(runnerId, { disconnectedAt: deps.clock.now() }),
    )
    const dispatcher = new RunDispatcher(this.#store, connections, deps)
    this.#connections = connections
    this.#dispatcher = dispatcher
    this.#intake = new ReportIntake(this.#store, connections, dispatcher, deps, this.#dispatch)
    this.#checks = new RunnerChecks(this.#store, connections, dispatcher, deps.clock)
    this.#checks.repair()
  }

  // ------------------------------------------------------------ agents

  start: RunnerApi['start'] = async (run) => {
    if (this.#store.findRun(run)) return this.#sendWaiting(run)
    const earlier = this.#store.listAttempts(run.activation_id)
    if (earlier.some(({ attempt }) => attempt > run.attempt)) return { kind: 'nobody' }
    if (this.#store.countOpenRuns() >= runnerLimits.runsMax) {
      throw new AppError('UNAVAILABLE', 'Too many runs wait for runners. Try again later.')
    }
    // The tokens of earlier attempts end here.
    const isRunning = await this.#deps.attempts.begin(run)
    if (!isRunning) return { kind: 'nobody' }
    for (const old of earlier) this.#stopOpen(old.attempt, run)
    if (!this.#store.findRun(run)) this.#store.insertRun(run, this.#deps.clock.now())
    return this.#sendWaiting(run)
  }

  async #sendWaiting(key: RunKey): ReturnType<RunnerApi['start']> {
    await this.#dispatch()
    const run = this.#store.findRun(key)
    return { kind: run ? this.#dispatcher.describe(run) : 'nobody' }
  }

  stop: RunnerApi['stop'] = async ({ activation_id, attempt }, reason) => {
    const run = this.#store.findRun({ activation_id, attempt })
    if (run && run.state !== 'ended') this.#dispatcher.stop(run, reason)
    await this.#setAlarm()
    // A run that parks still pushes its work; its token ends with its last report, or when the run is parked.
    if (reason !== 'parked') await this.#deps.attempts.end({ activation_id, attempt })
    await this.#dispatch()
  }

  forgetSessions: RunnerApi['forgetSessions'] = async (sessionIds) => {
    this.#store.deleteSessions(sessionIds)
    for (const { socket } of this.#connections.list()) {
      this.#connections.send(socket, { type: 'forget_sessions', session_ids: sessionIds })
    }
  }

  #stopOpen(attempt: number, { activation_id }: NewRun): void {
    const run = this.#store.findRun({ activation_id, attempt })
    if (run && run.state !== 'ended') this.#dispatcher.stop(run, 'superseded')
  }

  // ------------------------------------------------------------ runners

  /** Notes a new connection, which has to say who it is within a time. */
  open(socket: RunnerSocket, facts: Omit<ConnectionFacts, 'openedAt' | 'runnerId'>): Promise<void> {
    const openedAt = this.#deps.clock.now()
    this.#connections.write(socket, { ...facts, openedAt, runnerId: null })
    return this.#setAlarm()
  }

  /** Whether the hub, or the key of a new connection, has as many as it may have. */
  isFull(keyId: string): boolean {
    const { connectionsMax, connectionsPerKeyMax } = runnerLimits
    return (
      this.#connections.list().length >= connectionsMax ||
      this.#connections.list([keyTag(keyId)]).length >= connectionsPerKeyMax
    )
  }

  /** Takes a frame of a runner. Resolves when it was dealt with. */
  async receive(socket: RunnerSocket, data: string | ArrayBuffer): Promise<void> {
    const facts = this.#connections.read(socket)
    if (!facts) return
    const message = readFrame(data)
    if (typeof message === 'string') return this.#refuseFrame(socket, message)
    if (message.type === 'hello') {
      if (facts.runnerId !== null) return this.#refuseFrame(socket, 'A second hello.')
      return this.#welcome(socket, facts, message)
    }
    if (facts.runnerId === null)
      return this.#refuseFrame(socket, 'The first message must be hello.')
    this.#noteSeen(facts.runnerId)
    if (message.type === 'report') {
      await this.#intake.add(socket, message, String(data).length)
      if (!this.#connections.read(socket)) await this.#setAlarm()
      return
    }
    this.#takeRefusal(facts.runnerId, message)
    await this.#dispatch()
  }

  /** Notes that a connection has ended. */
  async close(socket: RunnerSocket): Promise<void> {
    this.#connections.noteClosed(socket)
    await this.#setAlarm()
  }

  #refuseFrame(socket: RunnerSocket, reason: string): Promise<void> {
    this.#connections.close(socket, runnerCloseCodes.badFrame, reason)
    return this.#setAlarm()
  }

  async #welcome(
    socket: RunnerSocket,
    facts: ConnectionFacts,
    hello: MessageOf<'hello'>,
  ): Promise<void> {
    const { clock } = this.#deps
    const { type: _type, protocol: _protocol, name, runs, ...said } = hello
    const { keyId, accountId, origin } = facts
    const now = clock.now()
    const runner = this.#store.saveRunner({
      ...{ id: clock.newId(), keyId, accountId, name, origin, facts: said },
      ...{ connectedAt: now, seenAt: now },
    })
    this.#store.deleteLongestLeft(keyId, runnerLimits.leftRunnersPerKeyMax)
    const before = this.#connections.find(runner.id)
    if (before) {
      const reason = 'Another process has connected with this key and name.'
      this.#connections.close(before, runnerCloseCodes.replaced, reason)
      this.#store.changeRunner(runner.id, { disconnectedAt: null })
    }
    this.#connections.write(socket, { ...facts, runnerId: runner.id })
    const { forget, goOn, lost } = reconcileRuns(this.#dispatcher.listRunsOn(runner.id), runs)
    const { pingMs: ping_ms } = runnerLimits
    this.#connections.send(socket, { type: 'welcome', runner_id: runner.id, ping_ms, forget })
    if (runner.isDraining) this.#connections.send(socket, { type: 'drain', is_draining: true })
    for (const run of goOn) {
      const key = toRunKey(run)
      const reason = run.reason === 'parked' ? 'parked' : 'superseded'
      if (run.state === 'stopping') this.#dispatcher.stop(run, reason)
      this.#connections.send(socket, { type: 'acknowledge', ...key, report: run.stored })
    }
    for (const run of lost) this.#dispatcher.lose(run, 'Its runner does not have it any more.')
    await this.#dispatch()
  }

  #takeRefusal(runnerId: string, { activation_id, attempt, reason }: MessageOf<'refuse'>): void {
    const run = this.#store.findRun({ activation_id, attempt })
    if (run?.runnerId !== runnerId || run.sentAt === null || run.stored > 0) return
    if (run.state === 'stopping') this.#store.endRun(toRunKey(run))
    if (run.state !== 'assigned') return
    const refusedBy = [...run.refusedBy, runnerId]
    if (this.#dispatcher.canGoElsewhere(run, refusedBy))
      this.#dispatcher.requeue(run, { refusedBy })
    else this.#dispatcher.lose(run, `The runner refused the run: ${reason}`)
  }

  /** Stores when a runner last sent something; not for every message, since a few seconds do not matter. */
  #noteSeen(runnerId: string): void {
    const now = this.#deps.clock.now()
    const runner = this.#store.findRunner(runnerId)
    if (runner && now - runner.seenAt > runnerLimits.pingMs) {
      this.#store.changeRunner(runnerId, { seenAt: now })
    }
  }

  // ------------------------------------------------------------ admins

  list(): RunnerList {
    const runners = this.#store.listRunners().map((runner) => ({
      ...{ id: runner.id, name: runner.name, keyId: runner.keyId },
      version: runner.facts.version,
      labels: runner.facts.labels,
      slots: runner.facts.slots,
      hasSandbox: runner.facts.has_sandbox,
      programs: runner.facts.programs,
      isConnected: this.#dispatcher.isPresent(runner),
      isDraining: runner.isDraining,
      connectedAt: runner.connectedAt,
      lastSeenAt: this.#dispatcher.readSeenAt(runner),
      runs: this.#dispatcher.listRunsOn(runner.id).map(toRunnerRun),
    }))
    return { runners, waiting: this.#dispatcher.listWaiting() }
  }

  async setDraining(runnerId: string, isDraining: boolean): Promise<boolean> {
    if (!this.#store.findRunner(runnerId)) return false
    this.#store.changeRunner(runnerId, { isDraining })
    const socket = this.#connections.find(runnerId)
    if (socket) this.#connections.send(socket, { type: 'drain', is_draining: isDraining })
    await this.#dispatch()
    return true
  }

  async remove(runnerId: string): Promise<'removed' | 'connected' | 'unknown'> {
    const runner = this.#store.findRunner(runnerId)
    if (!runner) return 'unknown'
    if (this.#dispatcher.isPresent(runner)) return 'connected'
    this.#dispatcher.loseRunsOn(runnerId, 'Its runner was removed.')
    const socket = this.#connections.find(runnerId)
    if (socket) this.#connections.close(socket, runnerCloseCodes.tryAgain, 'Connect again.')
    this.#store.deleteRunner(runnerId)
    await this.#setAlarm()
    return 'removed'
  }

  /** Ends the connections with any of the tags, and gives up what their runners run. Resolves when its tokens ended. */
  async disconnect(tags: string[]): Promise<void> {
    const reason = 'The key is not valid any more.'
    for (const { socket } of this.#connections.list(tags)) {
      this.#connections.close(socket, runnerCloseCodes.accessEnded, reason)
    }
    for (const { id, keyId, accountId } of this.#store.listRunners()) {
      // One that may come back has no connection with a tag.
      if (![keyTag(keyId), accountTag(accountId)].some((tag) => tags.includes(tag))) continue
      this.#dispatcher.loseRunsOn(id, 'The key of its runner was revoked.')
    }
    await this.#setAlarm()
    await this.#dispatcher.endLostTokens()
  }

  async alarm(): Promise<void> {
    // What fails below is done at the next alarm.
    await this.#storage.setAlarm(this.#deps.clock.now() + runnerLimits.retryMs)
    this.#checks.run()
    await this.#dispatcher.reportLosses()
    await this.#dispatch()
  }

  /** Sends runs to free runners. The alarm before it lets a successor send what this object does not. */
  #dispatch = async (): Promise<void> => {
    let assigned = this.#dispatcher.assign()
    while (assigned.length > 0) {
      await this.#setAlarm()
      await Promise.all(assigned.map((run) => this.#dispatcher.send(run)))
      assigned = this.#dispatcher.assign()
    }
    await this.#setAlarm()
  }

  async #setAlarm(): Promise<void> {
    const at = this.#checks.findNext()
    await (at === null ? this.#storage.deleteAlarm() : this.#storage.setAlarm(at))
  }
}
