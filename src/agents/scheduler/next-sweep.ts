import { scheduling } from '../../config'

/** What the sweep's pace depends on. Times in milliseconds since the epoch; null is never. */
export interface SweepState {
  lastSweepAt: number | null
  /** When the oldest wake-up that nobody confirmed was announced. */
  oldestArmedAt: number | null
}

/**
 * When to sweep next (S6): soon after a wake-up that was announced and not confirmed, again at the
 * same pace for as long as it is not, and slowly otherwise.
 */
export function computeNextSweep({ lastSweepAt, oldestArmedAt }: SweepState, now: number): number {
  const slow = (lastSweepAt ?? now) + scheduling.sweepSlowMs
  if (oldestArmedAt === null) return Math.max(now, slow)
  const soon = Math.max(oldestArmedAt, lastSweepAt ?? 0) + scheduling.sweepIntervalMs
  return Math.max(now, Math.min(slow, soon))
}

/** Whether a wake-up is old enough that the slow pace will do. */
export const isForgotten = (armedAt: number, now: number): boolean =>
  now - armedAt > scheduling.sweepArmedMs
