import type { CallTimeouts } from './model-port'

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

interface ResponseTimer {
  /** Restarts the timeout: a byte arrived. */
  touch(): void
  stop(): void
}

/**
 * Calls `onTimeout` once: when no `touch` follows within the time for the first byte, or later within
 * the time between two bytes. After the first byte the timer is re-armed when it fires, not at every
 * byte: an answer arrives in thousands of pieces.
 */
export function startResponseTimer(
  clock: Clock,
  { firstByteMs, betweenBytesMs }: CallTimeouts,
  onTimeout: (phase: keyof CallTimeouts) => void,
): ResponseTimer {
  let touchedAt: number | null = null
  let cancelTimer = clock.setTimer(firstByteMs, () => onTimeout('firstByteMs'))
  function check(): void {
    const left = (touchedAt ?? 0) + betweenBytesMs - clock.now()
    if (left > 0) cancelTimer = clock.setTimer(left, check)
    else onTimeout('betweenBytesMs')
  }
  return {
    touch() {
      const isFirst = touchedAt === null
      touchedAt = clock.now()
      if (!isFirst) return
      cancelTimer()
      cancelTimer = clock.setTimer(betweenBytesMs, check)
    },
    stop: () => cancelTimer(),
  }
}
