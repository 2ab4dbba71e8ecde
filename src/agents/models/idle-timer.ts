/** Clock and timers, replaceable in tests. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Runs `action` once after `ms`. Returns a function that cancels it. */
  setTimer(ms: number, action: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(ms, action) {
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}

interface IdleTimer {
  /** Restarts the timeout: a byte arrived. */
  touch(): void
  stop(): void
}

/**
 * Calls `onTimeout` once after `timeoutMs` without a `touch`. The timer is re-armed when it fires, not
 * at every byte: an answer arrives in thousands of pieces.
 */
export function startIdleTimer(clock: Clock, timeoutMs: number, onTimeout: () => void): IdleTimer {
  let touchedAt = clock.now()
  let cancelTimer = clock.setTimer(timeoutMs, check)
  function check(): void {
    const left = touchedAt + timeoutMs - clock.now()
    if (left > 0) cancelTimer = clock.setTimer(left, check)
    else onTimeout()
  }
  return {
    touch() {
      touchedAt = clock.now()
    },
    stop: () => cancelTimer(),
  }
}
