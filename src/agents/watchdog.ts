import { scheduling } from '../shared/config'
import type { Clock } from '../shared/ids'
import { isSleeping, type LoopState } from './loop/state'
import { computeNextAlarm } from './next-alarm'

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
