import { accountTag, keyTag } from '../../hub/contract/live-event'
import { boundWait } from '../../shared/bounded-wait'
import { runnerLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { Clock } from '../../shared/ids'
import {
  type RunnerMessage,
  runnerCloseCodes,
  runnerFrameCharsMax,
  runnerMessage,
  runnerProtocolVersion,
} from '../../shared/runner-protocol'
import type { NewRun, RunnerApi, RunnerList } from '../contract/coding-agents'
import { ReportIntake, RunDispatcher, type RunnersDeps, toRunnerRun } from './run-dispatcher'
import {
  type ConnectionFacts,
  RunnerConnections,
  type RunnerSocket,
  type RunnerSockets,
} from './runner-connections'
import { type RunKey, RunnerStore, type StoredRun, toRunKey } from './runner-store'

type MessageOf<Type extends RunnerMessage['type']> = Extract<RunnerMessage, { type: Type }>

/** The part of a Durable Object's storage that is used. */
interface RunnersStorage {
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
      id: clock.newId(),
      keyId,
      accountId,
      name,
      origin,
      facts: said,
      connectedAt: now,
      seenAt: now,
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
      id: runner.id,
      name: runner.name,
      keyId: runner.keyId,
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

/** What time does to runners and runs: silence, deadlines, and what a predecessor of the object left. */
class RunnerChecks {
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

/** What the runners' object waits for. Times are milliseconds since the Unix epoch. */
interface Waits {
  runs: readonly Pick<StoredRun, 'state' | 'sentAt' | 'dueAt' | 'endsAt'>[]
  /** Runners that hold runs: when they last sent something, and when they were disconnected. */
  busyRunners: readonly { seenAt: number; disconnectedAt: number | null }[]
  /** When connections were opened that have not said who they are. */
  openedAt: readonly number[]
  /** The earliest deadline of an ended run that is remembered; null: there is none. */
  oldestEnd: number | null
}

const { silenceMs, graceMs, helloMs, overrunMs, retryMs, endedKeptMs } = runnerLimits

/** Returns when a run needs a look, whatever its runner does. */
function findRunCheck(run: Waits['runs'][number], now: number): number {
  const { state, sentAt, dueAt, endsAt } = run
  if (state === 'stopping' || state === 'lost') return dueAt ?? 0
  if (state === 'assigned') return sentAt === null ? now + retryMs : endsAt + overrunMs
  // What was due is tried with every change; only the deadline is left.
  return dueAt !== null && dueAt > now ? Math.min(dueAt, endsAt) : endsAt
}

/**
 * Returns the time of the next alarm; null: none. A runner without runs needs none: whether it is still
 * there is looked at when it is to get a run.
 */
function computeNextCheck(waits: Waits, now: number): number | null {
  const times = [
    ...waits.runs.map((run) => findRunCheck(run, now)),
    ...waits.busyRunners.map(({ seenAt, disconnectedAt }) =>
      disconnectedAt === null ? seenAt + silenceMs : disconnectedAt + graceMs,
    ),
    ...waits.openedAt.map((at) => at + helloMs),
    ...(waits.oldestEnd === null ? [] : [waits.oldestEnd + endedKeptMs]),
  ]
  return times.length === 0 ? null : Math.max(now, Math.min(...times))
}

type HeldRun = Extract<RunnerMessage, { type: 'hello' }>['runs'][number]

interface Reconciliation {
  /** Held by the runner, and nobody waits for them. */
  forget: RunKey[]
  /** Held by the runner; it goes on. */
  goOn: StoredRun[]
  /** Sent to the runner, which does not have them. */
  lost: StoredRun[]
}

/**
 * Compares what a runner holds when it connects with the runs that were sent to it.
 *
 * @param sent runs of the runner that it was given and that have not ended
 */
function reconcileRuns(sent: readonly StoredRun[], held: readonly HeldRun[]): Reconciliation {
  const isSame = (run: StoredRun, key: RunKey) =>
    run.activationId === key.activation_id && run.attempt === key.attempt
  const wasSent = sent.filter(({ sentAt }) => sentAt !== null)
  return {
    forget: held
      .filter((key) => !wasSent.some((run) => isSame(run, key)))
      .map(({ activation_id, attempt }) => ({ activation_id, attempt })),
    goOn: wasSent.filter((run) => held.some((key) => isSame(run, key))),
    lost: wasSent.filter((run) => !held.some((key) => isSame(run, key))),
  }
}

/** Returns the message of a frame, or why it is none. */
function readFrame(data: string | ArrayBuffer): RunnerMessage | string {
  if (typeof data !== 'string') return 'Frames must be text.'
  if (data.length > runnerFrameCharsMax) return 'The frame is too long.'
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return 'The frame is not JSON.'
  }
  const parsed = runnerMessage.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  if (issue?.path[0] === 'protocol') {
    return `This hub speaks version ${runnerProtocolVersion} of the runner protocol. Update the runner.`
  }
  return `Not a message: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`
}
