/** Time as an argument, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Runs `action` once after `ms`; the answer takes it back. */
  after(ms: number, action: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}

interface SilenceWatch {
  /** A byte arrived. */
  touch(): void
  stop(): void
}

/**
 * Calls `onSilence` once when nothing was touched for `silenceMs`. One timer that is re-armed when
 * it rings, not one a byte: an answer comes in thousands of pieces.
 */
export function watchSilence(clock: Clock, silenceMs: number, onSilence: () => void): SilenceWatch {
  let touchedAt = clock.now()
  let cancelTimer = clock.after(silenceMs, ring)
  function ring(): void {
    const left = touchedAt + silenceMs - clock.now()
    if (left > 0) cancelTimer = clock.after(left, ring)
    else onSilence()
  }
  return {
    touch() {
      touchedAt = clock.now()
    },
    stop: () => cancelTimer(),
  }
}
