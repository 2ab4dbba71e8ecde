/**
 * Stored times at which a wait ends, and a clock that was ahead when they were stored and has been set back since. The
 * longest wait that a rule allows says which times it cannot have stored by the present clock.
 */

/**
 * Returns when a wait ends: at the stored time, at the latest after the longest wait of its rule. Store the result, or
 * act on it once: a bound that moves with the clock never ends. Milliseconds; times since the Unix epoch.
 */
export const boundWait = (storedAt: number, now: number, longestMs: number): number =>
  Math.min(storedAt, now + longestMs)

/** Returns whether a wait is over, also when it ends later than its rule allows; for waits that may be cut short. */
export const isWaitOver = (storedAt: number, now: number, longestMs: number): boolean =>
  storedAt <= now || storedAt > now + longestMs
