import type { RunOrder } from '../../src/shared/runner-protocol.ts'
import type { End } from '../profiles/profile.ts'

/** How an attempt ends. */
export interface Ending {
  end: End
  /** In words, for people. */
  detail: string | null
  /** Its work is kept, because the run goes on later. */
  keepsWork?: boolean
}

/** Ends an attempt from outside of the program: by the clock, by silence, or because somebody says so. */
export class RunLimits {
  readonly #ended = Promise.withResolvers<Ending>()
  readonly #silenceMs: number
  readonly #clock: NodeJS.Timeout
  #silence: NodeJS.Timeout
  #lastTouch = Date.now()
  readonly #abort = new AbortController()
  #ending: Ending | null = null

  constructor(limits: RunOrder['limits']) {
    this.#silenceMs = limits.silence_ms
    const leftMs = Math.max(0, limits.ends_at - Date.now())
    this.#clock = setTimeout(
      () => this.end({ end: 'cancelled', detail: 'The run reached its maximum duration.' }),
      Math.min(leftMs, 2 ** 31 - 1),
    )
    this.#silence = this.#listen(this.#silenceMs)
  }

  /** Resolves when the attempt must end. */
  get ended(): Promise<Ending> {
    return this.#ended.promise
  }

  /** Aborts when the attempt must end. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Why it must end; null while it may go on. */
  get ending(): Ending | null {
    return this.#ending
  }

  /** Notes that the program does something. */
  touch(): void {
    this.#lastTouch = Date.now()
  }

  end(ending: Ending): void {
    this.#ending ??= ending
    this.#ended.resolve(this.#ending)
    this.#abort.abort()
    this.close()
  }

  close(): void {
    clearTimeout(this.#clock)
    clearTimeout(this.#silence)
  }

  #listen(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      const quietMs = Date.now() - this.#lastTouch
      if (quietMs < this.#silenceMs) {
        this.#silence = this.#listen(this.#silenceMs - quietMs)
        return
      }
      const seconds = Math.round(quietMs / 1000)
      this.end({ end: 'silent', detail: `The program did nothing for ${seconds} s.` })
    }, ms)
  }
}
