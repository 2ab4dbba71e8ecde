import { reports } from '../../shared/config'

/** Use of an agent on one day. */
export interface DailyUse {
  costMicrousd: number
  tokens: number
}

export interface UnusualUse {
  measure: keyof DailyUse
  /** Median of the days with use, in micro-dollars or tokens. */
  usual: number
  /** Today's use divided by `usual`. */
  times: number
}

/**
 * Returns how far today's use exceeds the agent's usual use; null when it does not. Usual use is the
 * median of the days with use, so a few extreme days do not raise it and idle days do not lower it.
 * Compares cost first, then tokens for models without a price.
 *
 * @param history earlier days with use, in any order
 */
export function findUnusualUse(today: DailyUse, history: readonly DailyUse[]): UnusualUse | null {
  if (history.length < reports.usualDaysMin || today.tokens < reports.unusualTokensMin) return null
  for (const measure of ['costMicrousd', 'tokens'] as const) {
    const usual = median(history.map((day) => day[measure]))
    if (usual > 0 && today[measure] >= reports.unusualFactor * usual) {
      return { measure, usual, times: today[measure] / usual }
    }
  }
  return null
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}
