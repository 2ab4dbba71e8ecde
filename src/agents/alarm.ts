import { boundWait } from '../shared/bounded-wait'
import { activationLimits, codingAgents, scheduling } from '../shared/config'
import type { Clock } from '../shared/ids'
import { findWaitEnd, findWorking } from './loop/program'
import { isBusy, isSleeping, isStoppable, type LoopState, type ProgramState } from './loop/state'

/**
 * Sets an agent's single alarm, so that an activation resumes when its machine dies. Setting an alarm
 * is expensive, and it restarts the object even when nothing is left to do. So an activation that
 * starts after a rest gets its alarm only after a grace period, and none if it has ended by then.
 * Until the alarm is set, the caller of `wake` waits and keeps the scheduler's sweep armed.
 */
export class Watchdog {
  readonly #storage: Pick<DurableObjectStorage, 'setAlarm'>
  readonly #clock: Clock
  /** When the current alarm fires, in milliseconds since the epoch; null when none is set. */
  #at: number | null = null
  #begunAt = Number.NEGATIVE_INFINITY
  #grace: ReturnType<typeof setTimeout> | null = null
  #isDurable = true
  #waiters: (() => void)[] = []

  constructor(storage: Pick<DurableObjectStorage, 'setAlarm'>, clock: Clock) {
    this.#storage = storage
    this.#clock = clock
  }

  /**
   * Starts the grace period of a new activation, after which `remind` must call `watch` again. An
   * agent that is woken repeatedly gets no grace period: its alarm is set at once and is kept.
   */
  startGrace(remind: () => void): void {
    const now = this.#clock.now()
    const isRested = now - this.#begunAt > scheduling.watchdogMs
    this.#begunAt = now
    if (isRested) this.#grace ??= setTimeout(() => this.#endGrace(remind), scheduling.graceMs)
  }

  /** Sets the alarm that the state needs. An alarm that fires early enough is kept. */
  schedule(state: LoopState, now = this.#clock.now()): void {
    const wanted = computeNextAlarm(state, now)
    this.#isDurable = wanted === null || this.#isInPlace(wanted, now)
    if (wanted !== null && !this.#isDurable && (this.#grace === null || isSleeping(state))) {
      this.set(wanted)
    }
    if (wanted === null) this.#stopGrace()
    if (this.#isDurable) this.#resolveWaiting()
  }

  set(at: number): void {
    this.#at = at
    this.#isDurable = true
    void this.#storage.setAlarm(at)
  }

  /** Records that the alarm has fired and is no longer set. */
  recordFired(): void {
    this.#at = null
  }

  /** Whether an alarm is set. */
  get isSet(): boolean {
    return this.#at !== null
  }

  /** Resolves when the activation has its alarm or has ended, and all writes until then are on disk. */
  waitUntilDurable(): Promise<void> {
    return this.#isDurable
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#waiters.push(resolve)
        })
  }

  #isInPlace(wanted: number, now: number): boolean {
    const at = this.#at
    return at !== null && at <= wanted && at >= now - scheduling.watchdogMs
  }

  #endGrace(remind: () => void): void {
    this.#grace = null
    remind()
  }

  /** Ends the grace period. A remaining timer would keep the object in memory. */
  #stopGrace(): void {
    if (this.#grace !== null) clearTimeout(this.#grace)
    this.#grace = null
  }

  #resolveWaiting(): void {
    if (this.#waiters.length === 0) return
    for (const resolve of this.#waiters) resolve()
    this.#waiters = []
  }
}

/**
 * Returns when an agent's single alarm must fire, in milliseconds since the epoch; null for never.
 * That is the end of the sleep if the agent only sleeps. Otherwise it is a watchdog interval ahead,
 * to resume the activation if this machine dies, or the activation's deadline, if that comes first. While a program
 * works elsewhere, nothing runs here: the agent only asks after it now and then.
 */
export function computeNextAlarm(state: LoopState, now: number): number | null {
  if (!isBusy(state) && !state.isWokenAgain) return null
  if (isSleeping(state)) {
    const ends = state.pending.flatMap((effect) => (effect.type === 'sleep' ? [effect.until] : []))
    return Math.max(now, Math.min(...ends))
  }
  const program = findWorking(state)
  const check = program ? findCheck(program, now) : now + scheduling.watchdogMs
  const watchdog = Math.min(check, (program && findWaitEnd(program)) ?? check)
  return isStoppable(state) ? Math.max(now, Math.min(watchdog, state.endsAt)) : watchdog
}

/**
 * Returns the state with every stored time that lies further ahead than its rule allows brought back: the clock was set
 * back since it was stored. A sleep ends within the longest wait of any, and the time limit counts anew.
 */
export function boundTimes(state: LoopState, now: number): LoopState {
  const pending = state.pending.map((effect) =>
    effect.type === 'sleep'
      ? { ...effect, until: boundWait(effect.until, now, sleepMsMax) }
      : effect,
  )
  const endsAt = isStoppable(state)
    ? boundWait(state.endsAt, now, state.limits.durationMs)
    : state.endsAt
  return { ...state, pending, endsAt, startedAt: boundWait(state.startedAt, now, 0) }
}

/** No step sleeps longer: for room, for a model that asks for it, or for the hub. */
const sleepMsMax = Math.max(activationLimits.retryCapMs, scheduling.capacityRetryMsMax)

/** Returns when to ask after the run of a program. */
function findCheck({ place, hasStarted, isNotified, askedAt }: ProgramState, now: number): number {
  const isPlaced = hasStarted || (place !== 'asked' && place !== 'unreachable')
  if (!isPlaced) return now + scheduling.watchdogMs
  const check = now + codingAgents.checkMs
  const mustNotify = place === 'nobody' && !hasStarted && !isNotified
  return mustNotify ? Math.max(now, Math.min(check, askedAt + codingAgents.nobodyThereMs)) : check
}

/** Whether the time limit of the activation ends it now. */
export const hasTimedOut = (state: LoopState, now: number): boolean =>
  isStoppable(state) && now >= state.endsAt

/** Returns how long a platform event stays with the activation: until its deadline, or the longest for one event. */
export function computeAwakeMs(state: LoopState, now: number): number {
  const left = isStoppable(state) ? state.endsAt - now : scheduling.eventMs
  return Math.max(0, Math.min(left, scheduling.eventMs))
}
