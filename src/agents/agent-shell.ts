import { scheduling } from '../config'
import type { AccountId, ActivationId } from '../ids'
import type { AgentDeps } from './agent-deps'
import { composeWake } from './compose-wake'
import type { AgentState, Watched } from './contract'
import { describeState } from './describe-state'
import { EffectRunner } from './effects/effect-runner'
import type { ActivationStream } from './live/activation-stream'
import { findActivation, toParkedWork, type Work } from './live/work'
import type { Effect } from './loop/effect'
import type { LoopEvent, LoopEventOf } from './loop/event'
import { type Ending, isBusy, isWorking, type LoopState, willStop } from './loop/state'
import { step } from './loop/step'
import { saveTurn } from './memory/save-turn'
import { Journal } from './storage/journal'
import { MemoryStore } from './storage/memory-store'
import { buildTrace } from './trace/build-trace'
import { logDecision } from './trace/log-decision'
import { UnderWay } from './under-way'
import { Watchdog } from './watchdog'

/**
 * The shell around the loop: takes events, asks `step`, writes the row, starts the effects. It
 * decides nothing. Work starts in whatever event brought it and outlives it; an alarm a watchdog's
 * time ahead resumes it when the machine dies, and holds the object awake while it takes longer.
 */
export class AgentShell {
  readonly #deps: AgentDeps
  readonly #watchdog: Watchdog
  readonly #journal: Journal
  readonly #memory: MemoryStore
  readonly #runner: EffectRunner
  readonly #stream: ActivationStream
  readonly #underWay = new UnderWay()
  #state: LoopState
  /** Of the activation under way; an agent at rest holds nothing in memory. */
  #events: LoopEvent[]
  /** Of these events or the last ones; the state forgets it with the commit. */
  #ending: Ending | null
  #effectsThisEvent = 0
  #needsRecovery: boolean
  #lastRow: { event: LoopEvent; state: LoopState } | null = null

  constructor(
    storage: DurableObjectStorage,
    deps: AgentDeps,
    stream: ActivationStream,
    memory = new MemoryStore(storage.sql),
  ) {
    this.#deps = deps
    this.#stream = stream
    this.#watchdog = new Watchdog(storage, deps.clock)
    this.#journal = new Journal(storage.sql)
    this.#memory = memory
    const { state, events, agentId, wasWatched } = this.#journal.load()
    if (wasWatched) stream.findWatchers()
    this.#state = state
    this.#events = events
    this.#ending = state.ending
    this.#needsRecovery = isBusy(state) || state.isWokenAgain
    const now = () => ({ state: this.#state, events: this.#events })
    this.#runner = new EffectRunner(deps, this.#journal, this.#memory, stream, now, agentId)
    this.#watchdog.watch(state)
    if (!isBusy(state)) this.#rest()
  }

  /**
   * A hint that work may wait. With `mayExplore` the scheduler offers a turn to look around, once
   * (S1).
   */
  wake(agentId: AccountId, mayExplore = false): void {
    this.#enter()
    this.#runner.identify(agentId)
    this.#recover()
    if (!isBusy(this.#state)) this.#watchdog.begin(() => this.#watchdog.watch(this.#state))
    this.#apply(composeWake(this.#deps.clock, mayExplore))
  }

  /** Resolves when the agent is sure to look, whatever crashes, or has looked. */
  untilSure(): Promise<void> {
    return this.#watchdog.untilSure()
  }

  /**
   * The watchdog: takes up what was left behind, holds the object awake while work takes longer, and
   * cuts off what is under way when the wall clock limit passes (L8).
   */
  async alarm(): Promise<void> {
    this.#watchdog.hasFired()
    this.#watchdog.watch(this.#state)
    this.#enter()
    this.#recover()
    this.#writeLastRow()
    for (const effect of this.#state.pending) this.#start(effect)
    await this.#hold()
    this.#checkDeadline()
    // what ended meanwhile has no alarm that would write its last row
    this.#writeLastRow()
    this.#watchdog.watch(this.#state)
  }

  /** Asks the activation to stop; false when it is too late or another one (L34). */
  cancel(activationId: ActivationId): boolean {
    this.#enter()
    this.#recover()
    const before = this.#state
    const asked = { type: 'cancel_requested', at: this.#deps.clock.now(), charge: null } as const
    if (before.activationId !== activationId || before.phase === 'parked') {
      return this.#journal.stopAside(activationId, asked)
    }
    this.#apply({ ...asked, charge: this.#runner.worstOfSent() })
    return willStop(this.#state) || this.#state !== before
  }

  readState(): AgentState {
    return describeState(this.#state, this.#runner, this.#events)
  }

  readTrace(activationId: ActivationId): string | null {
    const { events, ending } = this.look(activationId)
    return events.length > 0 ? JSON.stringify(buildTrace(events, ending, null)) : null
  }

  /** For those who watch: the activation under way or the last one, or one that was set aside. */
  look(activationId?: ActivationId | null): Work {
    const events = this.#recall()
    const mine = findActivation(events)
    if (activationId && activationId !== mine) {
      return toParkedWork(activationId, this.#journal.readAside(activationId))
    }
    return {
      activationId: mine,
      events,
      ending: this.#ending,
      doing: this.#runner.doing,
      isOver: this.#state.phase === 'idle',
    }
  }

  /** Somebody comes to watch: after a hibernation that must be known without asking the platform. */
  watch(request: Request, watched: Watched): Response {
    const wasWatched = this.#stream.isWatched
    const response = this.#stream.watch(request, watched, this.look(watched.activationId))
    if (this.#stream.isWatched && !wasWatched) this.#journal.keepOwner({ wasWatched: true })
    return response
  }

  /** A skill that the agent may use in the task it works on; null for any other. */
  readSkill(name: string): Promise<string | null> {
    return this.#runner.readSkill(name)
  }

  /** Resolves when nothing is under way. */
  untilQuiet(): Promise<void> {
    return this.#underWay.untilQuiet()
  }

  /** Rows of the activation under way or of the last one. */
  countJournalRows(): number {
    return this.#journal.countRows()
  }

  /** Every event of the platform may start a number of effects; the rest waits for the next one. */
  #enter(): void {
    this.#effectsThisEvent = 0
  }

  /**
   * Decide, write, act. Nothing in between waits, so the platform takes the writes as one. An event
   * that changes nothing leaves no row. Going idle with a call on record begins anew.
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
    if (state.ending && !endingBefore) {
      saveTurn(this.#memory, { state, events: this.#events, at: event.at })
    }
    if (this.#stream.isWatched) this.#stream.tell(this.look(), endingBefore)
    this.#underWay.keepOnly(state.pending)
    for (const effect of effects) this.#start(effect)
    if (!isBusy(state) && state.isWokenAgain) {
      this.#apply(composeWake(this.#deps.clock, false))
      return
    }
    this.#watchdog.watch(state, event.at)
    if (!isBusy(state)) this.#rest()
  }

  /** What it did, or has parked, stays in the journal alone. */
  #rest(): void {
    this.#events = []
    this.#journal.dropTexts()
    this.#runner.forget()
  }

  #recall(): LoopEvent[] {
    if (this.#events.length > 0 || isBusy(this.#state)) return this.#events
    this.#writeLastRow()
    const { events } = this.#journal.load()
    this.#journal.dropTexts()
    return events
  }

  /**
   * Nothing follows from the last row: a repeated commit would only read what the first one did. So it
   * waits for the alarm, if one is in place, and the next activation makes it needless. What is parked
   * is set aside with its last row.
   */
  #write(event: LoopEvent, state: LoopState): void {
    const mayWait = state.phase === 'idle' && !state.isWokenAgain && this.#watchdog.isSet
    this.#lastRow = mayWait ? { event, state } : null
    if (mayWait) return
    this.#journal.append(event, state)
    if (state.phase === 'parked' && state.activationId) this.#journal.setAside(state.activationId)
  }

  #start(effect: Effect): void {
    if (this.#underWay.has(effect.id) || !this.#state.pending.some(({ id }) => id === effect.id))
      return
    if (this.#effectsThisEvent >= scheduling.effectsPerEvent) {
      this.#watchdog.set(this.#deps.clock.now())
      return
    }
    this.#effectsThisEvent++
    this.#runner
      .run(effect, this.#underWay.begin(effect.id))
      .then((event) => this.#finish(effect, event))
      .catch((error: unknown) => this.#finish(effect, this.#runner.describeFailure(effect, error)))
      .catch((error: unknown) => this.#underWay.break(error))
  }

  #finish(effect: Effect, event: LoopEvent | null): void {
    this.#underWay.end(effect.id)
    if (event?.type === 'resumed') this.#takeUp(effect, event)
    else if (event) this.#apply(event)
    this.#underWay.settle()
  }

  /** In place of the activation that asked for work, a parked one goes on (L30). */
  #takeUp(effect: Effect, event: LoopEventOf<'resumed'>): void {
    if (!this.#state.pending.some(({ id }) => id === effect.id)) return
    const kept = this.#journal.takeUp(event.activationId)
    if (!kept) return
    this.#state = kept.state
    this.#events = kept.events
    this.#ending = null
    this.#apply(event)
  }

  /** Takes up what another machine left behind (L36). */
  #recover(): void {
    if (!this.#needsRecovery) return
    this.#needsRecovery = false
    const { pending } = this.#state
    if (!isBusy(this.#state)) {
      this.#apply(composeWake(this.#deps.clock, false))
    } else if (pending.every(({ type }) => type === 'sleep')) {
      for (const effect of pending) this.#start(effect)
    } else {
      this.#apply(this.#runner.describeInterruption())
    }
  }

  #writeLastRow(): void {
    if (this.#lastRow) this.#journal.append(this.#lastRow.event, this.#lastRow.state)
    this.#lastRow = null
  }

  #checkDeadline(): void {
    const at = this.#deps.clock.now()
    if (!isWorking(this.#state) || at < this.#state.endsAt) return
    this.#apply({ type: 'time_ran_out', at, charge: this.#runner.worstOfSent() })
  }

  /** Waits for quiet, for the wall clock limit, or for as long as one event may take. */
  async #hold(): Promise<void> {
    const left = isWorking(this.#state)
      ? this.#state.endsAt - this.#deps.clock.now()
      : scheduling.eventMs
    const enough = new AbortController()
    const wait = scheduler.wait(Math.max(0, Math.min(left, scheduling.eventMs)), {
      signal: enough.signal,
    })
    await Promise.race([this.untilQuiet(), wait.catch(() => undefined)])
    // a timer left behind would keep the object in memory
    enough.abort()
  }
}
