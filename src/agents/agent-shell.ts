import { recovery, scheduling } from '../shared/config'
import type { AccountId, ActivationId, Clock } from '../shared/ids'
import { boundTimes, computeAwakeMs, hasTimedOut, Watchdog } from './alarm'
import type { AgentState, WatchRequest } from './contract/agents'
import type { AgentDeps } from './effects/effect-context'
import { EffectRunner } from './effects/effect-runner'
import type { ProgramDesk } from './effects/program-desk'
import { logDecision } from './log-decision'
import type { LoopEvent, LoopEventOf } from './loop/event'
import {
  type Effect,
  type Ending,
  hasDeferredStop,
  isBusy,
  isLasting,
  type LoopState,
} from './loop/state'
import { step } from './loop/step'
import { saveEnded } from './memory/compose-turn'
import { MemoryStore } from './memory/memory-store'
import {
  computeTurnMs,
  isWithin,
  judgeInterruption,
  removeTexts,
  type Turn,
  toMark,
} from './recovery'
import {
  type ActivationSnapshot,
  type ActivationStream,
  findActivation,
  toParkedSnapshot,
} from './run/live-stream'
import { foldPlan } from './run/plan'
import { composeRecord } from './run/record'
import { redactRunLog } from './run/redact'
import { toRunLog } from './run/run-log'
import { Journal } from './storage/journal'

/**
 * Runs the loop of one agent: passes events to `step`, writes the journal row, starts the effects. It
 * makes no decisions itself. An activation starts in the platform event that caused it and outlives
 * that event. The watchdog alarm resumes it when the machine dies, and keeps the object awake while
 * it runs.
 */
export class AgentShell {
  readonly #storage: Pick<DurableObjectStorage, 'sync'>
  readonly #deps: AgentDeps
  readonly #watchdog: Watchdog
  readonly #journal: Journal
  readonly #memory: MemoryStore
  readonly #runner: EffectRunner
  readonly #stream: ActivationStream
  readonly #running = new RunningTasks()
  /** For what happens to a running program elsewhere. */
  readonly desk: ProgramDesk
  #state: LoopState
  /** Events of the running activation; an idle agent holds none in memory. */
  #events: LoopEvent[]
  /** Ending of the current or last activation; the state drops it with the commit. */
  #ending: Ending | null
  #effectsThisEvent = 0
  #needsRecovery: boolean
  /** Resolves when an interrupted run has gone on; its effects are held until then. */
  #resuming: Promise<void> | null = null
  /** The interrupted run is not yet in the journal as such. */
  #mustInterrupt = false
  #isInTurn = false
  #lastRow: { event: LoopEvent; state: LoopState } | null = null

  constructor(
    storage: DurableObjectStorage,
    deps: AgentDeps,
    stream: ActivationStream,
    memory = new MemoryStore(storage.sql),
  ) {
    this.#storage = storage
    this.#deps = deps
    this.#stream = stream
    this.#watchdog = new Watchdog(storage, deps.clock)
    this.#journal = new Journal(storage.sql)
    this.#memory = memory
    const { state: stored, events, agentId, wasWatched } = this.#journal.load()
    const state = boundTimes(stored, deps.clock.now())
    if (wasWatched) stream.findWatchers()
    this.#state = state
    this.#events = state.ending?.isBare ? events.map(removeTexts) : events
    this.#ending = state.ending
    if (agentId) deps.lane.reset(agentId)
    this.#needsRecovery = isBusy(state) || state.isWokenAgain
    const now = () => ({ state: this.#state, events: this.#events })
    this.#runner = new EffectRunner(deps, this.#journal, this.#memory, stream, now, agentId)
    this.desk = this.#runner.createDesk((event) => this.#applyFromOutside(event))
    this.#watchdog.schedule(state)
    if (!isBusy(state)) this.#releaseMemory()
  }

  /**
   * Wakes the agent to check for tasks. With `canExplore` the scheduler offers one exploration, for
   * when there are none; with `maySteer` the running activation looks for comments that join it.
   */
  wake(agentId: AccountId, hint: WakeHint = {}): void {
    this.#startEvent()
    this.#runner.identify(agentId)
    this.#recover()
    if (!isBusy(this.#state)) this.#watchdog.startGrace(() => this.#watchdog.schedule(this.#state))
    this.#apply(composeWake(this.#deps.clock, hint))
    this.desk.waits.noteNews()
  }

  /** Resolves when the check for tasks is done, or when an alarm guarantees it even after a crash. */
  waitUntilDurable(): Promise<void> {
    return this.#watchdog.waitUntilDurable()
  }

  /**
   * Handles the watchdog alarm: resumes an interrupted activation, keeps the object awake while the
   * activation runs, and interrupts the activation at its deadline.
   */
  async alarm(): Promise<void> {
    this.#watchdog.recordFired()
    this.#watchdog.schedule(this.#state)
    this.#startEvent()
    this.#recover()
    this.#writeLastRow()
    for (const effect of this.#state.pending) this.#start(effect)
    await this.#keepAwake()
    this.#checkDeadline()
    // An activation that has ended meanwhile has no alarm that would write its last row.
    this.#writeLastRow()
    this.#watchdog.schedule(this.#state)
  }

  /** Cancels the activation. Returns false when it has ended or is neither the current one nor parked. */
  cancel(activationId: ActivationId): boolean {
    this.#startEvent()
    this.#recover()
    this.#interrupt()
    const before = this.#state
    const request = { type: 'cancel_requested', at: this.#deps.clock.now(), charge: null } as const
    if (before.activationId !== activationId || before.phase === 'parked') {
      return this.#journal.cancelParked(activationId, request)
    }
    this.#apply({ ...request, ...this.#runner.measureCallInFlight() })
    return hasDeferredStop(this.#state) || this.#state !== before
  }

  readState(): AgentState {
    const text = this.#stream.readText(this.#state.activationId)
    return { ...describeState(this.#state, this.#runner, this.#events), text }
  }

  /** Returns the record of the activation so far as JSON; null when this object does not have it. */
  readRunLog(activationId: ActivationId): string | null {
    const { events, ending } = this.readActivation(activationId)
    return events.length > 0 ? JSON.stringify(composeRecord(events, ending, null)) : null
  }

  /** Returns the running activation, the last one, or a parked one, for watchers. */
  readActivation(activationId?: ActivationId | null): ActivationSnapshot {
    const events = this.#readEvents()
    const current = findActivation(events)
    if (activationId && activationId !== current) {
      return toParkedSnapshot(activationId, this.#journal.readParked(activationId))
    }
    return {
      activationId: current,
      events,
      ending: this.#ending,
      doing: this.#runner.doing,
      isCommitted: this.#state.phase === 'idle',
    }
  }

  /**
   * Answers a watcher's WebSocket upgrade. The journal records that there are watchers, so that it is
   * known after a hibernation without asking the platform.
   */
  watch(request: Request, watched: WatchRequest): Response {
    const wasWatched = this.#stream.isWatched
    const response = this.#stream.watch(request, watched, this.readActivation(watched.activationId))
    if (this.#stream.isWatched && !wasWatched) this.#journal.saveOwner({ wasWatched: true })
    return response
  }

  /** Deletes the logs of runs that have ended or wait for an approval. A running one goes on. */
  deleteRuns(ids: ActivationId[]): void {
    const last = findActivation(this.#readEvents())
    const canDelete = !isBusy(this.#state) && last !== null && ids.includes(last)
    if (canDelete) {
      this.#lastRow = null
      this.#journal.begin()
      this.#events = []
    }
    this.#journal.deleteRuns(ids, canDelete)
  }

  /** Returns a skill of the current task; null when the task doesn't have this skill. */
  readSkill(name: string): Promise<string | null> {
    return this.#runner.readSkill(name)
  }

  /** Resolves when no effect is running. */
  async waitUntilIdle(): Promise<void> {
    await this.#resuming
    await this.#running.waitUntilIdle()
  }

  /** Returns the number of journal rows of the running activation, or of the last one. */
  countJournalRows(): number {
    return this.#journal.countRows()
  }

  /** Starts a platform event, which can start a limited number of effects; the rest waits for the next. */
  #startEvent(): void {
    this.#effectsThisEvent = 0
  }

  /**
   * Decides, writes the row, then starts the effects. It is synchronous, so the platform commits the
   * writes together. An event that changes nothing writes no row. An agent that becomes idle and was
   * woken meanwhile wakes again.
   */
  #apply(event: LoopEvent): void {
    const isNew = event.type === 'woken' && !isBusy(this.#state)
    const { state, effects } = step(this.#state, event)
    if (state === this.#state) return
    if (isNew) {
      this.#journal.begin()
      this.#events = []
    }
    this.#write(event, state)
    this.#events.push(event)
    logDecision(this.#deps.log, { before: this.#state, event, after: state, events: this.#events })
    const endingBefore = isNew ? null : this.#ending
    this.#ending = state.ending ?? endingBefore
    this.#state = state
    if (state.ending && !endingBefore && !state.ending.isBare) {
      saveEnded(this.#memory, { state, events: this.#events, at: event.at })
    }
    if (this.#stream.isWatched) this.#stream.publish(this.readActivation(), endingBefore)
    this.#running.abortOthers(state.pending)
    if (this.#isInTurn && 'effectId' in event) void this.#endTurn()
    for (const effect of effects) this.#start(effect)
    if (!isBusy(state) && state.isWokenAgain) {
      this.#apply(composeWake(this.#deps.clock, { canExplore: state.mayExplore }))
      return
    }
    this.#watchdog.schedule(state, event.at)
    if (!isBusy(state)) this.#releaseMemory()
  }

  /** Passes an event of another object to the loop, which may have stopped since its last one. */
  #applyFromOutside(event: LoopEvent): void {
    this.#startEvent()
    this.#recover()
    this.#interrupt()
    this.#apply(event)
  }

  /** Frees the memory of an idle agent: events of ended and parked activations are in the journal. */
  #releaseMemory(): void {
    this.#events = []
    this.#runner.clearActivation()
  }

  #readEvents(): LoopEvent[] {
    if (this.#events.length > 0 || isBusy(this.#state)) return this.#events
    this.#writeLastRow()
    return this.#journal.load().events
  }

  /**
   * Writes the row of an event. An activation's last row is deferred to the alarm, if one is set,
   * because no effect follows from that row: a repeated commit would only return the first result.
   * The next activation makes the row unnecessary. A parked activation is copied with its last row.
   */
  #write(event: LoopEvent, state: LoopState): void {
    const canDefer = state.phase === 'idle' && !state.isWokenAgain && this.#watchdog.isSet
    this.#lastRow = canDefer ? { event, state } : null
    if (canDefer) return
    this.#journal.append(event, state)
    if (state.phase === 'parked' && state.activationId) this.#journal.saveParked(state.activationId)
  }

  #start(effect: Effect): void {
    if (this.#resuming || this.#running.has(effect.id)) return
    if (!this.#state.pending.some(({ id }) => id === effect.id)) return
    if (this.#effectsThisEvent >= scheduling.effectsPerEvent) {
      this.#watchdog.set(this.#deps.clock.now())
      return
    }
    this.#effectsThisEvent++
    this.#run(effect, this.#running.begin(effect.id))
      .then((event) => this.#finish(effect, event))
      .catch((error: unknown) => this.#finish(effect, this.#runner.toFailureEvent(effect, error)))
      .catch((error: unknown) => this.#running.rejectWaiting(error))
  }

  /** Performs an effect, once no interrupted run of this process is to be alone. */
  async #run(effect: Effect, signal: AbortSignal): Promise<LoopEvent | null> {
    const { lane } = this.#deps
    const { agentId } = this.#runner
    if (isLasting(effect.type)) return this.#runner.run(effect, signal)
    while (lane.isHeldBack(agentId)) {
      await scheduler.wait(recovery.askMs)
      if (signal.aborted) return null
    }
    // Local work of many runs is one chain of microtasks: the wait lets the process serve its sockets in between.
    // The calls of tools stand between two such waits, and keep their order.
    if (effect.type !== 'call_tool') await scheduler.wait(1)
    if (signal.aborted) return null
    const end = lane.begin(agentId)
    try {
      return await this.#runner.run(effect, signal)
    } finally {
      end()
    }
  }

  #finish(effect: Effect, event: LoopEvent | null): void {
    this.#running.end(effect.id)
    if (event?.type === 'resumed') this.#resume(effect, event)
    else if (event) this.#apply(event)
    this.#running.resolveIfIdle()
  }

  /** Resumes a parked activation in place of the new one that asked for tasks. */
  #resume(effect: Effect, event: LoopEventOf<'resumed'>): void {
    if (!this.#state.pending.some(({ id }) => id === effect.id)) return
    const kept = this.#journal.resumeParked(event.activationId)
    if (!kept) return
    this.#state = kept.state
    this.#events = kept.events
    this.#ending = null
    this.#apply(event)
  }

  /** Resumes an activation that another machine left unfinished. */
  #recover(): void {
    if (!this.#needsRecovery) return
    this.#needsRecovery = false
    const { pending } = this.#state
    if (!isBusy(this.#state)) {
      this.#apply(composeWake(this.#deps.clock, { canExplore: this.#state.mayExplore }))
    } else if (pending.every(({ type }) => isLasting(type))) {
      for (const effect of pending) this.#start(effect)
    } else {
      this.#mustInterrupt = true
      this.#resuming = this.#takeTurn().then((taken) => this.#goOn(taken))
      // an alarm that waits for it rejects, so that the platform retries it
      this.#resuming.catch(() => {
        this.#resuming = null
        this.#needsRecovery = true
        this.#deps.lane.reset(this.#runner.agentId)
      })
    }
  }

  /** Waits until the interrupted run can go on; null: it is set aside. See `ResumeMark`. */
  async #takeTurn(): Promise<Taken | null> {
    const { starts, isSetAside } = judgeInterruption(this.#journal.readMark(), this.#state)
    if (isSetAside) return null
    const isAlone = (await this.#waitForTurn(starts)) === 'alone'
    // on disk before anything of the run is looked at
    this.#journal.saveMark(toMark(this.#state, starts, isAlone))
    await this.#storage.sync()
    return { starts, isAlone }
  }

  /** Lets the interrupted run go on, or ends it. */
  #goOn(taken: Taken | null): void {
    this.#interrupt(taken === null)
    if (taken) this.#journal.saveMark(toMark(this.#state, taken.starts, taken.isAlone))
    this.#resuming = null
    if (taken?.isAlone) void this.#limitTurn(taken.starts)
    for (const effect of this.#state.pending) this.#start(effect)
  }

  async #waitForTurn(starts: number): Promise<Turn> {
    for (;;) {
      const turn = this.#deps.lane.ask(this.#runner.agentId, starts)
      if (turn) return turn
      await scheduler.wait(recovery.askMs)
    }
  }

  /** Ends the turn of a run that works for long, or whose process is about to stop in order. */
  async #limitTurn(starts: number): Promise<void> {
    const { lane, clock } = this.#deps
    this.#isInTurn = true
    const [begunAt, ms] = [clock.now(), computeTurnMs(starts)]
    while (this.#isInTurn && isWithin(begunAt, clock.now(), ms) && !lane.isStopping) {
      await scheduler.wait(recovery.askMs)
    }
    if (!this.#isInTurn) return
    this.#journal.saveMark(toMark(this.#state, starts, false))
    await this.#endTurn()
  }

  /** Ends the turn of this run, once what it has written is on disk. */
  async #endTurn(): Promise<void> {
    this.#isInTurn = false
    // without this the turn runs out
    const isStored = await this.#storage.sync().then(
      () => true,
      () => false,
    )
    if (isStored) this.#deps.lane.endTurn(this.#runner.agentId)
  }

  /** Writes that the run was interrupted, once. Its effects may still have to wait. */
  #interrupt(isSetAside = false): void {
    if (!this.#mustInterrupt) return
    this.#mustInterrupt = false
    if (isSetAside) this.#events = this.#events.map(removeTexts)
    this.#apply(this.#runner.toInterruptedEvent(isSetAside))
  }

  #writeLastRow(): void {
    if (this.#lastRow) this.#journal.append(this.#lastRow.event, this.#lastRow.state)
    this.#lastRow = null
  }

  #checkDeadline(): void {
    const at = this.#deps.clock.now()
    if (!hasTimedOut(this.#state, at)) return
    this.#interrupt()
    this.#apply({ type: 'time_ran_out', at, ...this.#runner.measureCallInFlight() })
  }

  /** Waits until no effect runs, until the deadline, or for the maximum duration of one event. */
  async #keepAwake(): Promise<void> {
    const ms = computeAwakeMs(this.#state, this.#deps.clock.now())
    await this.#running.waitUntilIdleOr(ms, this.#resuming)
  }
}

/** How an interrupted run goes on. */
interface Taken {
  /** Interruptions in a row without progress. */
  starts: number
  isAlone: boolean
}

/** The running effects of one agent, by id. Effects share one abort signal, so all abort together. */
export class RunningTasks {
  readonly #ids = new Set<number>()
  /** Created with the first effect, because it takes memory in each of many agents. */
  #abort: AbortController | null = null
  /** Created by the first caller that waits. */
  #idle: PromiseWithResolvers<void> | null = null

  has(id: number): boolean {
    return this.#ids.has(id)
  }

  /** Adds an effect. The returned signal aborts when the effect is dropped. */
  begin(id: number): AbortSignal {
    this.#ids.add(id)
    this.#abort ??= new AbortController()
    return this.#abort.signal
  }

  end(id: number): void {
    this.#ids.delete(id)
  }

  /** Drops all effects that are not in `wanted`. If there are any, the shared signal aborts. */
  abortOthers(wanted: readonly { id: number }[]): void {
    let hasDropped = false
    for (const id of this.#ids) {
      if (wanted.some((each) => each.id === id)) continue
      this.#ids.delete(id)
      hasDropped = true
    }
    if (!hasDropped) return
    this.#abort?.abort()
    this.#abort = null
  }

  /** Resolves `untilQuiet` if no effect runs. Call it after an effect's event has been applied. */
  resolveIfIdle(): void {
    if (this.#ids.size > 0) return
    this.#abort = null
    this.#idle?.resolve()
    this.#idle = null
  }

  /** Reports that storage failed: a waiting alarm rejects, so that the platform retries it. */
  rejectWaiting(error: unknown): void {
    if (!this.#idle) throw error
    this.#idle.reject(error)
    this.#idle = null
  }

  /** Resolves when no effect runs. Dropped effects that have not ended are not waited for. */
  async waitUntilIdle(): Promise<void> {
    if (this.#ids.size === 0) return
    this.#idle ??= Promise.withResolvers()
    await this.#idle.promise
  }

  /** Resolves when no effect runs after `before`, or after a time. */
  async waitUntilIdleOr(ms: number, before: Promise<void> | null = null): Promise<void> {
    const timer = new AbortController()
    const wait = scheduler.wait(ms, { signal: timer.signal })
    const isIdle = before ? before.then(() => this.waitUntilIdle()) : this.waitUntilIdle()
    await Promise.race([isIdle, wait.catch(() => undefined)])
    // A remaining timer would keep the object in memory.
    timer.abort()
  }
}

/** What a wake-up says; each may be lost. */
export interface WakeHint {
  /** The scheduler offers an exploration. */
  canExplore?: boolean | undefined
  /** A comment arrived in the thread where the agent works. */
  maySteer?: boolean | undefined
}

/**
 * Returns a `woken` event. It contains the ids of the records that may follow, so that a repeated
 * effect creates no duplicates.
 */
function composeWake(clock: Clock, { canExplore, maySteer }: WakeHint = {}): LoopEvent {
  const at = clock.now()
  return {
    type: 'woken',
    at,
    activationId: clock.newId(at),
    replyId: clock.newId(at),
    reportId: clock.newId(at),
    ...(canExplore && { mayExplore: canExplore }),
    ...(maySteer && { maySteer }),
  }
}

/** Returns what an agent does now, for the API and pages. */
function describeState(
  state: LoopState,
  { doing, waitReason }: { doing: string | null; waitReason: string | null },
  events: LoopEvent[],
): Omit<AgentState, 'text'> {
  const { activationId, pending } = state
  const isAsleep = !isBusy(state)
  const log = toRunLog(isAsleep ? [] : events, null)
  const sleep = pending.find((effect) => effect.type === 'sleep')
  const isWaiting = sleep !== undefined && pending.length === 1
  return {
    state: isAsleep ? 'asleep' : isWaiting ? 'waiting' : 'working',
    activationId,
    doing: isAsleep ? null : doing,
    reason: isWaiting ? (waitReason ?? 'waiting to retry') : null,
    nextAt: sleep?.type === 'sleep' ? sleep.until : null,
    plan: isAsleep ? null : foldPlan(log),
    publicPlan: isAsleep ? null : foldPlan(redactRunLog(log, 'none')),
  }
}
