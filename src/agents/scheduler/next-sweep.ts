import { scheduling } from '../../shared/config'

/** Inputs of the sweep's interval. Times in milliseconds since the epoch; null means never. */
export interface SweepState {
  lastSweepAt: number | null
  /** When the sweep was armed for the oldest unconfirmed wake-up. */
  oldestArmedAt: number | null
}

/**
 * Returns when to sweep next: at the short interval while a wake-up is unconfirmed, otherwise at the
 * slow interval. A time in the future was stored before the clock went back: it delays nothing.
 */
export function computeNextSweep({ lastSweepAt, oldestArmedAt }: SweepState, now: number): number {
  if (lastSweepAt !== null && lastSweepAt > now) return now
  const slow = (lastSweepAt ?? now) + scheduling.sweepSlowMs
  if (oldestArmedAt === null) return Math.max(now, slow)
  const armedAt = oldestArmedAt > now ? 0 : oldestArmedAt
  const soon = Math.max(armedAt, lastSweepAt ?? 0) + scheduling.sweepIntervalMs
  return Math.max(now, Math.min(slow, soon))
}

/** Returns whether an unconfirmed wake-up is so old that the slow interval suffices. */
export const isArmingExpired = (armedAt: number, now: number): boolean =>
  now - armedAt > scheduling.sweepArmedMs
