import { scheduling } from '../config'
import type { Clock } from '../ids'
import { isAsleep, type LoopState } from './loop/state'
import { computeNextAlarm } from './next-alarm'

/**
 * An agent's one alarm, so that work goes on when its machine dies. Setting it has its price, and it
 * brings the object back when there is nothing left to do: so what begins after a rest gets it a
 * moment later, and what is over by then gets none. Until the work is sure to go on, whoever brought
 * it waits and keeps the scheduler's sweep armed.
 */
export class Watchdog {
  readonly #storage: Pick<DurableObjectStorage, 'setAlarm'>
  readonly #clock: Clock
  /** When the alarm in place fires. */
  #at: number | null = null
  #begunAt = Number.NEGATIVE_INFINITY
  #grace: ReturnType<typeof setTimeout> | null = null
  #isSure = true
  #waiting: (() => void)[] = []

  constructor(storage: Pick<DurableObjectStorage, 'setAlarm'>, clock: Clock) {
    this.#storage = storage
    this.#clock = clock
  }

  /**
   * Work begins. `remind` asks to watch it again, once it has taken longer than a moment; an agent
   * that is called again and again has its alarm at once, and one alarm for all of it.
   */
  begin(remind: () => void): void {
    const now = this.#clock.now()
    const isRested = now - this.#begunAt > scheduling.watchdogMs
    this.#begunAt = now
    if (isRested) this.#grace ??= setTimeout(() => this.#endGrace(remind), scheduling.graceMs)
  }

  /** Sets the alarm that the state needs. One that comes early enough is kept. */
  watch(state: LoopState, now = this.#clock.now()): void {
    const wanted = computeNextAlarm(state, now)
    this.#isSure = wanted === null || this.#isInPlace(wanted, now)
    if (wanted !== null && !this.#isSure && (this.#grace === null || isAsleep(state))) {
      this.set(wanted)
    }
    if (wanted === null) this.#stopGrace()
    if (this.#isSure) this.#tellWaiting()
  }

  set(at: number): void {
    this.#at = at
    this.#isSure = true
    void this.#storage.setAlarm(at)
  }

  /** The platform has called: there is no alarm any more. */
  hasFired(): void {
    this.#at = null
  }

  /** Whether the platform will call. */
  get isSet(): boolean {
    return this.#at !== null
  }

  /** Resolves when the work has its alarm or is over, and what was written until then is on disk. */
  untilSure(): Promise<void> {
    return this.#isSure
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#waiting.push(resolve)
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

  /** A timer left behind would keep the object in memory. */
  #stopGrace(): void {
    if (this.#grace !== null) clearTimeout(this.#grace)
    this.#grace = null
  }

  #tellWaiting(): void {
    if (this.#waiting.length === 0) return
    for (const resolve of this.#waiting) resolve()
    this.#waiting = []
  }
}
