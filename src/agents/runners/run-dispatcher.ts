import { runnerLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { AccountId, ActivationId, Clock } from '../../shared/ids'
import type { Log } from '../../shared/log'
import {
  type HubMessage,
  type RunnerMessage,
  runnerCloseCodes,
  runOrder,
} from '../../shared/runner-protocol'
import type { NewRun, RunnerRun, RunReceiver } from '../contract/coding-agents'
import type { RunnerConnections, RunnerSocket } from './runner-connections'
import {
  type RunKey,
  type RunnerStore,
  type StoredRun,
  type StoredRunner,
  toRunKey,
} from './runner-store'

type StopReason = Extract<HubMessage, { type: 'stop' }>['reason']

const holdsSlot = ({ state }: StoredRun): boolean => state === 'assigned' || state === 'stopping'

/**
 * Gives waiting runs to runners, and ends runs. Everything is stored before it is sent; what was stored and
 * not done is done by the object's alarm.
 */
export class RunDispatcher {
  readonly #store: RunnerStore
  readonly #connections: RunnerConnections
  readonly #deps: RunnersDeps

  constructor(store: RunnerStore, connections: RunnerConnections, deps: RunnersDeps) {
    this.#store = store
    this.#connections = connections
    this.#deps = deps
  }

  /** Returns the runs that are on a runner, as its orders were sent. */
  listRunsOn(runnerId: string): StoredRun[] {
    return this.#store.listOpenRuns().filter((run) => run.runnerId === runnerId && holdsSlot(run))
  }

  /** Returns when a runner last sent something. */
  readSeenAt(runner: StoredRunner): number {
    const socket = this.#connections.find(runner.id)
    return Math.max(runner.seenAt, socket ? this.#connections.readPingAt(socket) : 0)
  }

  /** Whether a runner is connected and has sent something lately. */
  isPresent(runner: StoredRunner): boolean {
    const silence = this.#deps.clock.now() - this.readSeenAt(runner)
    return runner.disconnectedAt === null && silence < runnerLimits.silenceMs
  }

  /** Assigns each waiting run that a free runner can take, the oldest first, and returns these. */
  assign(): StoredRun[] {
    const now = this.#deps.clock.now()
    const runs = this.#store.listOpenRuns()
    const candidates = this.#listCandidates(runs)
    return runs.flatMap((run) => {
      if (run.state !== 'waiting' || (run.dueAt ?? 0) > now) return []
      const choice = chooseRunner(candidates, this.#toNeeds(run))
      if (choice.kind !== 'runner') return []
      const { runner } = choice
      runner.used++
      runner.assignedAt = now
      this.#store.changeRunner(runner.id, { assignedAt: now })
      const change = { state: 'assigned', runnerId: runner.id, sentAt: null, dueAt: null } as const
      this.#store.changeRun(toRunKey(run), change)
      return [{ ...run, ...change }]
    })
  }

  #toNeeds({ needs, refusedBy }: StoredRun): RunNeeds {
    const session = needs.session_id
    return { ...needs, refusedBy, home: session && this.#store.findSessionRunner(session) }
  }

  /** Returns whether a run was sent, or why it waits. */
  describe(run: StoredRun): 'started' | 'busy' | 'nobody' {
    if (run.state !== 'waiting') return 'started'
    const { kind } = chooseRunner(
      this.#listCandidates(this.#store.listOpenRuns()),
      this.#toNeeds(run),
    )
    return kind === 'nobody' ? 'nobody' : 'busy'
  }

  /** Returns runs that wait, with the reason. */
  listWaiting(): (RunnerRun & { reason: 'busy' | 'nobody' })[] {
    const runs = this.#store.listOpenRuns()
    const candidates = this.#listCandidates(runs)
    return runs
      .filter(({ state }) => state === 'waiting')
      .map((run) => {
        const { kind } = chooseRunner(candidates, this.#toNeeds(run))
        return { ...toRunnerRun(run), reason: kind === 'nobody' ? 'nobody' : 'busy' }
      })
  }

  /** Whether another connected runner could take a run that one has refused. */
  canGoElsewhere(run: StoredRun, refusedBy: string[]): boolean {
    const candidates = this.#listCandidates(this.#store.listOpenRuns())
    return chooseRunner(candidates, { ...this.#toNeeds(run), refusedBy }).kind !== 'nobody'
  }

  /** Puts a run back that no runner has begun. */
  requeue(run: StoredRun, change: { refusedBy?: string[]; dueAt?: number } = {}): void {
    this.#store.changeRun(toRunKey(run), {
      state: 'waiting',
      runnerId: null,
      sentAt: null,
      dueAt: null,
      ...change,
    })
  }

  /**
   * Gives a run up. The alarm reports it to its agent, unless that has ended the run itself. The agent of a run that
   * parks waits for its end, and its token is still valid.
   */
  lose(run: StoredRun, reason: string): void {
    const dueAt = this.#deps.clock.now()
    if (run.state === 'stopping' && run.reason !== 'parked') this.#store.endRun(toRunKey(run))
    else this.#store.changeRun(toRunKey(run), { state: 'lost', dueAt, reason })
  }

  /** Gives a run up that its runner still has. */
  giveUp(run: StoredRun, reason: string): void {
    this.#sendStop(run, 'max_duration')
    this.lose(run, reason)
  }

  /** Gives up what a runner runs. */
  loseRunsOn(runnerId: string, reason: string): void {
    for (const run of this.listRunsOn(runnerId)) this.lose(run, reason)
  }

  /** Notifies agents of their lost runs, after the tokens of these were ended. */
  async reportLosses(): Promise<void> {
    const now = this.#deps.clock.now()
    const lost = this.#store
      .listOpenRuns()
      .filter(({ state, dueAt }) => state === 'lost' && (dueAt ?? 0) <= now)
    await Promise.all(lost.map((run) => this.#reportLoss(run)))
  }

  /** Ends the tokens of lost runs before their agents are notified. What fails here is done with that. */
  async endLostTokens(): Promise<void> {
    const lost = this.#store.listOpenRuns().filter(({ state }) => state === 'lost')
    const ending = lost.map((run) => this.#deps.attempts.end(toRunKey(run)))
    for (const result of await Promise.allSettled(ending)) {
      if (result.status === 'rejected')
        this.#deps.log.warn('failed to end a token', { error: result.reason })
    }
  }

  async #reportLoss(run: StoredRun): Promise<void> {
    const { activationId, attempt, agentId, reason } = run
    const key = toRunKey(run)
    const retryAt = this.#deps.clock.now() + runnerLimits.retryMs
    this.#store.changeRun(key, { dueAt: retryAt })
    try {
      await this.#deps.attempts.end(key)
      await this.#deps.receiver(agentId).loseRun(activationId, attempt, reason ?? 'Unknown reason')
      this.#store.endRun(key)
    } catch (error) {
      this.#deps.log.warn('failed to report a lost run', { activation: activationId, error })
    }
  }

  /** Ends a run wherever it is: at once, or after its runner has reported the rest. */
  stop(run: StoredRun, reason: StopReason): void {
    const key = toRunKey(run)
    const isOnRunner = holdsSlot(run) && run.sentAt !== null && run.runnerId !== null
    if (!isOnRunner) {
      this.#store.endRun(key)
      return
    }
    const dueAt = run.dueAt ?? this.#deps.clock.now() + runnerLimits.stopMs
    this.#store.changeRun(key, { state: 'stopping', dueAt, reason })
    this.#sendStop(run, reason)
  }

  #sendStop(run: StoredRun, reason: StopReason): void {
    const socket = run.runnerId === null ? null : this.#connections.find(run.runnerId)
    if (socket) this.#connections.send(socket, { type: 'stop', ...toRunKey(run), reason })
  }

  #listCandidates(runs: readonly StoredRun[]): Candidate[] {
    const used = new Map<string, number>()
    for (const run of runs) {
      const { runnerId } = run
      if (runnerId && holdsSlot(run)) used.set(runnerId, (used.get(runnerId) ?? 0) + 1)
    }
    return this.#store.listRunners().map((runner) => ({
      id: runner.id,
      isConnected: this.isPresent(runner),
      isDraining: runner.isDraining,
      hasSandbox: runner.facts.has_sandbox,
      labels: runner.facts.labels,
      programs: runner.facts.programs,
      slots: runner.facts.slots,
      used: used.get(runner.id) ?? 0,
      assignedAt: runner.assignedAt,
    }))
  }

  /** Sends an assigned run with a new token. What cannot be sent waits again, or is lost. */
  async send(run: StoredRun): Promise<void> {
    const runner = this.#store.findRunner(run.runnerId ?? '')
    const key = toRunKey(run)
    const order = this.#store.readOrder(key)
    if (!runner || !order) return
    const authorization = await this.#authorize(run, runner, order.workspace)
    const current = this.#store.findRun(key)
    const isStill =
      current?.state === 'assigned' && current.runnerId === runner.id && current.sentAt === null
    if (!isStill || authorization === null) return
    if (authorization.kind === 'run_ended') this.lose(current, 'The run has ended.')
    else if (authorization.kind === 'key_ended') this.#endKey(current, runner)
    else this.#sendOrder(current, runner, toStart(order, authorization.token, runner.origin))
  }

  #sendOrder(run: StoredRun, runner: StoredRunner, message: HubMessage): void {
    const socket = this.#connections.find(runner.id)
    this.#store.changeRun(toRunKey(run), { sentAt: this.#deps.clock.now() })
    if (socket && this.#connections.send(socket, message)) return
    // It has not left, so it may be sent elsewhere.
    this.requeue(run)
    if (socket) this.#connections.noteClosed(socket)
    else this.#store.changeRunner(runner.id, { disconnectedAt: this.#deps.clock.now() })
  }

  /** Disconnects a runner whose key has ended. */
  #endKey(run: StoredRun, runner: StoredRunner): void {
    this.requeue(run)
    const socket = this.#connections.find(runner.id)
    if (socket) {
      this.#connections.close(
        socket,
        runnerCloseCodes.accessEnded,
        'The key is not valid any more.',
      )
    }
    this.#store.changeRunner(runner.id, { disconnectedAt: this.#deps.clock.now() })
    this.loseRunsOn(runner.id, 'The key of its runner is not valid any more.')
  }

  /** Returns null when the run could not be authorized now, or not at all. */
  async #authorize(
    run: StoredRun,
    runner: StoredRunner,
    workspace: NewRun['workspace'],
  ): Promise<RunAuthorization | null> {
    const { activationId, attempt, agentId, endsAt } = run
    const { attempts, clock, log } = this.#deps
    try {
      return await attempts.authorize({
        activationId,
        attempt,
        agentId,
        endsAt,
        keyId: runner.keyId,
        workspace,
      })
    } catch (error) {
      const current = this.#store.findRun(toRunKey(run))
      if (current?.state !== 'assigned' || current.sentAt !== null) return null
      if (error instanceof AppError) this.lose(current, error.message)
      else this.requeue(current, { dueAt: clock.now() + runnerLimits.retryMs })
      log.error('failed to authorize a run', { activation: activationId, error })
      return null
    }
  }
}

/** Returns what the hub's pages show of a run. */
export const toRunnerRun = (run: StoredRun): RunnerRun => ({
  activationId: run.activationId,
  attempt: run.attempt,
  agent: run.agent,
  program: run.needs.program,
  runsOn: run.needs.runs_on,
  since: run.sentAt ?? run.createdAt,
})

/** Returns the message with the order of a run: nothing else of the hub reaches the machine. */
function toStart(run: NewRun, token: string, origin: string): HubMessage {
  const endpoints = { models: `${origin}/gateway`, mcp: `${origin}/mcp`, git: `${origin}/git` }
  return { type: 'start', order: runOrder.parse({ ...run, token, endpoints }) }
}

/** A runner, as far as the choice depends on it. */
interface Candidate {
  id: string
  isConnected: boolean
  isDraining: boolean
  hasSandbox: boolean
  labels: readonly string[]
  programs: readonly { type: string }[]
  slots: number
  /** Slots in use. */
  used: number
  /** When it was last given a run, in milliseconds since the epoch; 0: never. */
  assignedAt: number
}

/** What a run needs of its runner. */
type RunNeeds = Pick<NewRun, 'program' | 'builtin' | 'runs_on'> & {
  /** Ids of runners that could not take it. */
  refusedBy: readonly string[]
  /** The runner that has the session in which the run goes on; null: none is known. */
  home: string | null
}

type RunnerChoice<Found> = { kind: 'runner'; runner: Found } | { kind: 'busy' } | { kind: 'nobody' }

const isSuitable = (runner: Candidate, needs: RunNeeds): boolean =>
  runner.isConnected &&
  !runner.isDraining &&
  (runner.hasSandbox || needs.builtin === 'none') &&
  runner.programs.some(({ type }) => type === needs.program) &&
  needs.runs_on.every((label) => runner.labels.includes(label)) &&
  !needs.refusedBy.includes(runner.id)

const freeShare = ({ slots, used }: Candidate): number => (slots - used) / slots

/**
 * Chooses the runner of a run: of the suitable ones with a free slot the one that has its session, then the least
 * loaded, then the one that has waited longest. `busy`: the suitable ones have no free slot; `nobody`: none is suitable.
 */
function chooseRunner<Found extends Candidate>(
  runners: readonly Found[],
  needs: RunNeeds,
): RunnerChoice<Found> {
  const isHome = ({ id }: Found): number => Number(id === needs.home)
  const suitable = runners.filter((runner) => isSuitable(runner, needs))
  const [best] = suitable
    .filter(({ slots, used }) => used < slots)
    .sort(
      (a, b) => isHome(b) - isHome(a) || freeShare(b) - freeShare(a) || a.assignedAt - b.assignedAt,
    )
  if (best) return { kind: 'runner', runner: best }
  return { kind: suitable.length > 0 ? 'busy' : 'nobody' }
}

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

/** The attempt that is about to be sent to a runner. */
interface RunToAuthorize {
  activationId: ActivationId
  attempt: number
  agentId: AccountId
  /** Milliseconds since the epoch, like the token's expiry. */
  endsAt: number
  /** The key of the runner. */
  keyId: string
  /** The repository, as its order names it, and the branches that it may push to; null: none. */
  workspace: { repository: string; push: string[] } | null
}

type RunAuthorization =
  /** The token opens what the run needs until it ends. */
  | { kind: 'issued'; token: string }
  /** The activation does not run any more, or this is not its current attempt. */
  | { kind: 'run_ended' }
  /** The runner's key is not valid any more. */
  | { kind: 'key_ended' }

/** The hub's record of which attempt of an activation is the current one: tokens of others open nothing. */
interface RunAttempts {
  /** Makes an attempt the current one, unless a later one is. Returns false when the activation does not run. */
  begin(run: RunKey): Promise<boolean>
  /** Ends what the attempt's token opens. Idempotent. */
  end(run: RunKey): Promise<void>
  /** @throws AppError when no token can be issued for it */
  authorize(run: RunToAuthorize): Promise<RunAuthorization>
}

/** Dependencies of the runners' object, provided by the composition root. */
export interface RunnersDeps {
  attempts: RunAttempts
  /** Returns the object of an agent. */
  receiver(agentId: AccountId): RunReceiver
  clock: Clock
  log: Log
}
